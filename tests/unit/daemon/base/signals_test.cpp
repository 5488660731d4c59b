// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/signals.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "export/file_descriptor.hpp"

using namespace tributary;
using namespace std::chrono_literals;

namespace {

constexpr std::array kTaken{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

/// Gives the process its signal mask and its handlers back, which are Catch2's.
class SavedSignals {
public:
    SavedSignals() {
        ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
        for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE, SIGXFSZ}) {
            struct sigaction action {};
            ::sigaction(number, nullptr, &action);
            actions_.emplace_back(number, action);
        }
    }
    SavedSignals(const SavedSignals&) = delete;
    SavedSignals& operator=(const SavedSignals&) = delete;
    ~SavedSignals() {
        for (const auto& [number, action] : actions_) {
            ::sigaction(number, &action, nullptr);
        }
        ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    }

private:
    sigset_t mask_{};
    std::vector<std::pair<int, struct sigaction>> actions_;
};

/// To the process, as `kill` and the service manager send it.
void send(int number) { REQUIRE(::kill(::getpid(), number) == 0); }

/// Runs `work` in a process of its own.
///
/// @return  its status, as waitpid() gives it; it exits with 0 if no signal ends it
int end_of(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        work();
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
}

}  // namespace

TEST_CASE("Signals: each signal arrives once, with its number", "[daemon][unit]") {
    const SavedSignals saved;
    Signals signals;
    for (const int number : kTaken) {
        CHECK(signals.wait_for(0ms) == std::nullopt);
        send(number);
        CHECK(signals.wait_for(30s) == number);
        CHECK(signals.wait_for(0ms) == std::nullopt);
    }
}

TEST_CASE("Signals: several signals arrive one by one", "[daemon][unit]") {
    const SavedSignals saved;
    Signals signals;
    for (const int number : kTaken) {
        send(number);
    }
    std::set<int> arrived;
    for (std::size_t n = 0; n < kTaken.size(); ++n) {
        arrived.insert(signals.wait_for(30s).value());
    }
    CHECK(arrived == std::set<int>(kTaken.begin(), kTaken.end()));
    CHECK(signals.wait_for(0ms) == std::nullopt);
}

TEST_CASE("Signals: a signal that is sent twice arrives once; after that it arrives again",
          "[daemon][unit]") {
    const SavedSignals saved;
    Signals signals;
    send(SIGTERM);
    send(SIGTERM);
    CHECK(signals.wait_for(30s) == SIGTERM);
    CHECK(signals.wait_for(0ms) == std::nullopt);
    send(SIGTERM);
    CHECK(signals.wait_for(30s) == SIGTERM);
}

TEST_CASE("Signals: an end is pending from SIGINT or SIGTERM to its wait_for", "[daemon][unit]") {
    const SavedSignals saved;
    Signals signals;
    for (const int number : kTaken) {
        CHECK_FALSE(Signals::is_end_pending());
        send(number);
        CHECK(Signals::is_end_pending() == (number == SIGINT || number == SIGTERM));
        CHECK(signals.wait_for(30s) == number);
    }
    CHECK_FALSE(Signals::is_end_pending());
}

TEST_CASE("Signals: without a signal wait_for lasts for the given time", "[daemon][unit]") {
    const SavedSignals saved;
    Signals signals;
    const auto began = std::chrono::steady_clock::now();
    CHECK(signals.wait_for(20ms) == std::nullopt);
    CHECK(std::chrono::steady_clock::now() - began >= 20ms);
}

TEST_CASE("Signals: wake() ends the wait of another thread, or the next one", "[daemon][unit]") {
    const SavedSignals saved;
    Signals signals;
    const auto began = std::chrono::steady_clock::now();
    std::thread other([&signals] { signals.wake(); });
    CHECK(signals.wait_for(60s) == std::nullopt);
    other.join();
    signals.wake();
    signals.wake();  // as good as one
    CHECK(signals.wait_for(60s) == std::nullopt);
    CHECK(std::chrono::steady_clock::now() - began < 60s);
    send(SIGHUP);
    signals.wake();  // the signal is not lost
    CHECK(signals.wait_for(60s) == std::nullopt);
    CHECK(signals.wait_for(60s) == SIGHUP);
}

TEST_CASE("Signals: threads that begin later are not interrupted", "[daemon][unit]") {
    const SavedSignals saved;
    Signals signals;
    sigset_t mask{};
    std::thread thread([&mask] {
        ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        for (const int number : kTaken) {
            static_cast<void>(::kill(::getpid(), number) == 0);
        }
    });
    thread.join();
    for (const int number : kTaken) {
        CHECK(::sigismember(&mask, number) == 1);
    }
    CHECK(::sigismember(&mask, SIGUSR2) == 0);
    CHECK(::sigismember(&mask, SIGSEGV) == 0);
    std::set<int> arrived;
    for (std::size_t n = 0; n < kTaken.size(); ++n) {
        arrived.insert(signals.wait_for(30s).value());
    }
    CHECK(arrived == std::set<int>(kTaken.begin(), kTaken.end()));
}

TEST_CASE("Signals: a write to a closed pipe is an error code", "[daemon][unit]") {
    const SavedSignals saved;
    const Signals signals;
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    FileDescriptor in(ends[0]);
    const FileDescriptor out(ends[1]);
    in = FileDescriptor();
    CHECK(::write(out.get(), "x", 1) == -1);
    CHECK(errno == EPIPE);
    struct sigaction action {};
    REQUIRE(::sigaction(SIGXFSZ, nullptr, &action) == 0);
    CHECK(action.sa_handler == SIG_IGN);
}

TEST_CASE("Signals: after let_go they end the process, also where they were ignored before",
          "[daemon][unit]") {
    const auto number = GENERATE(SIGHUP, SIGINT, SIGTERM);
    const auto was_ignored = GENERATE(false, true);
    const auto is_pending = GENERATE(false, true);
    const int status = end_of([&] {
        ::signal(number, was_ignored ? SIG_IGN : SIG_DFL);
        Signals signals;
        if (is_pending) {
            ::kill(::getpid(), number);
        }
        signals.let_go();
        ::kill(::getpid(), number);
    });
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
}

TEST_CASE("Signals: after let_go SIGUSR1 does nothing", "[daemon][unit]") {
    const int status = end_of([] {
        Signals signals;
        ::kill(::getpid(), SIGUSR1);
        signals.let_go();
        ::kill(::getpid(), SIGUSR1);
    });
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
