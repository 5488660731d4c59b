// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

namespace tributary {

namespace {

sigset_t taken_signals() noexcept {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGUSR1}) {
        sigaddset(&set, number);
    }
    return set;
}

}  // namespace

Signals::Signals() {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    const sigset_t set = taken_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signal_fd_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    wake_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (signal_fd_ < 0 || wake_fd_ < 0) {
        throw std::system_error(errno, std::generic_category(), "signalfd");
    }
}

Signals::~Signals() {
    ::close(signal_fd_);
    ::close(wake_fd_);
}

std::optional<int> Signals::wait_for(std::chrono::milliseconds time) {
    std::array<pollfd, 2> fds{{{signal_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), static_cast<int>(time.count()));
    std::uint64_t count = 0;
    if (::read(wake_fd_, &count, sizeof count) > 0) {
        return std::nullopt;
    }
    signalfd_siginfo info{};
    if (::read(signal_fd_, &info, sizeof info) == sizeof info) {
        return static_cast<int>(info.ssi_signo);
    }
    return std::nullopt;
}

bool Signals::is_end_pending() noexcept {
    sigset_t pending;
    return ::sigpending(&pending) == 0 &&
           (::sigismember(&pending, SIGINT) == 1 || ::sigismember(&pending, SIGTERM) == 1);
}

void Signals::let_go() noexcept {
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
        ::signal(number, SIG_DFL);
    }
    ::signal(SIGUSR1, SIG_IGN);
    const sigset_t set = taken_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Signals::end_process(int signal) noexcept {
    let_go();
    std::raise(signal);
}

void Signals::wake() noexcept {
    const std::uint64_t one = 1;
    // It fails only if the count would overflow, and then the waiter wakes anyway.
    [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

}  // namespace tributary
