// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace tributary {
namespace {

// Sequences of ECMA-48 and, after "?", of DEC and xterm, which all of today's terminals support.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
/// Restores the former screen; on a terminal with only one, ends it with an empty line.
constexpr std::string_view kLeave = "\033[0m\033[999;1H\r\n\033[?7h\033[?25h\033[?1049l";
constexpr std::string_view kRestOfLine = "\033[K";
constexpr std::string_view kRestOfScreen = "\033[J";

/// The state for the handler of a fatal signal.
struct Restoring {
    int terminal = -1;  ///< -1: nothing to restore
    termios former{};
};
Restoring restoring;

constexpr std::array kFatalSignals{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
constexpr std::array kTakenSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

/// Async-signal-safe. Also writes in the background.
void restore() noexcept {
    if (restoring.terminal < 0) {
        return;
    }
    sigset_t set;
    sigset_t before;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &set, &before);
    static_cast<void>(::write(restoring.terminal, kLeave.data(), kLeave.size()) > 0);
    static_cast<void>(::tcsetattr(restoring.terminal, TCSANOW, &restoring.former) == 0);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    restoring.terminal = -1;
}

extern "C" void restore_and_die(int signal) {
    restore();
    static_cast<void>(::raise(signal) == 0);  // its action is the default one again
}

sigset_t taken_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : kTakenSignals) {
        sigaddset(&set, signal);
    }
    return set;
}

/// The terminal of standard output with a file description of its own; if it may not be opened
/// (another user's), the same description.
FileDescriptor opened_anew() {
    FileDescriptor opened(::open("/proc/self/fd/1", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return opened ? std::move(opened) : FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
}

const char* environment(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return value != nullptr ? value : "";
}

std::string_view begin_of(LineStyle style, bool has_colors) {
    switch (style) {
        case LineStyle::heading:
            return "\033[1m";
        case LineStyle::alarm:
            return has_colors ? "\033[1;31m" : "\033[1m";
        case LineStyle::bar:
            return "\033[7m";
        case LineStyle::plain:
            break;
    }
    return "";
}

}  // namespace

std::unique_ptr<Terminal> Terminal::open() {
    const std::string_view kind = environment("TERM");
    termios former{};
    if (::isatty(STDOUT_FILENO) == 0 || kind.empty() || kind == "dumb" ||
        ::tcgetattr(STDOUT_FILENO, &former) != 0) {
        return nullptr;
    }
    FileDescriptor terminal = opened_anew();
    const sigset_t taken = taken_signals();
    FileDescriptor signals(::signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!terminal || !signals) {
        return nullptr;
    }
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, &taken, &mask);
    return std::unique_ptr<Terminal>(
        new Terminal(std::move(terminal), std::move(signals), mask, former));
}

Terminal::Terminal(FileDescriptor terminal, FileDescriptor signals, const sigset_t& former_mask,
                   const termios& former)
    : terminal_(std::move(terminal)),
      signals_(std::move(signals)),
      former_mask_(former_mask),
      former_(former),
      has_colors_(*environment("NO_COLOR") == '\0') {
    struct sigaction action {};
    action.sa_handler = restore_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int signal : kFatalSignals) {
        ::sigaction(signal, &action, nullptr);
    }
    enter();
}

Terminal::~Terminal() {
    leave();
    for (const int signal : kFatalSignals) {
        ::signal(signal, SIG_DFL);
    }
    ::pthread_sigmask(SIG_SETMASK, &former_mask_, nullptr);
}

ScreenSize Terminal::size() const {
    constexpr std::size_t kRows = 24;
    constexpr std::size_t kColumns = 80;
    winsize size{};
    if (::ioctl(terminal_.get(), TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
        return {.rows = kRows, .columns = kColumns};
    }
    return {.rows = size.ws_row, .columns = size.ws_col};
}

void Terminal::draw(const ScreenLines& lines) {
    if (!is_in_) {
        return;
    }
    std::string text = "\033[H";
    for (std::size_t line = 0; line < lines.size(); ++line) {
        text += line > 0 ? "\r\n" : "";
        // Before the text: after a line that fills the row it would erase the last character.
        text += line + 1 < lines.size() ? kRestOfLine : kRestOfScreen;
        text += begin_of(lines[line].style, has_colors_);
        text += lines[line].text;
        text += "\033[0m";
    }
    write(text);
}

Terminal::News Terminal::wait(int socket, std::chrono::milliseconds time) {
    std::array<pollfd, 3> fds{{{signals_.get(), POLLIN, 0},
                               {is_in_ ? terminal_.get() : -1, POLLIN, 0},
                               {socket, POLLIN, 0}}};
    News news;
    if (!is_in_ && is_ours()) {
        enter();
        news.needs_drawing = true;
    }
    ::poll(fds.data(), fds.size(), static_cast<int>(time.count()));
    if (fds[0].revents != 0) {
        take_signals(news);
    }
    if (fds[1].revents != 0 && is_in_) {
        take_keys(news);
    }
    return news;
}

/// Whether the process is in the foreground, or its terminal has no foreground process.
bool Terminal::is_ours() const {
    const pid_t foreground = ::tcgetpgrp(terminal_.get());
    return foreground < 0 || foreground == ::getpgrp();
}

void Terminal::enter() {
    if (!is_ours()) {
        return;
    }
    termios raw = former_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (::tcsetattr(terminal_.get(), TCSANOW, &raw) == 0 && !is_in_) {
        is_in_ = true;
        restoring.former = former_;
        restoring.terminal = terminal_.get();
        write(kEnter);
    }
}

void Terminal::leave() noexcept {
    is_in_ = false;
    restore();
}

/// Stops the process for Ctrl-Z; returns when it goes on.
void Terminal::suspend() {
    leave();
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    static_cast<void>(::raise(SIGTSTP) == 0);
    ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // here it stops
    ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    enter();
}

/// Writes all, unless a signal comes while the terminal takes nothing (Ctrl-S).
void Terminal::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(terminal_.get(), text.data(), text.size());
        if (written > 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
            continue;
        }
        if (written < 0 && errno != EAGAIN && errno != EINTR) {
            return;  // the terminal is gone; wait() reports it
        }
        std::array<pollfd, 2> fds{{{terminal_.get(), POLLOUT, 0}, {signals_.get(), POLLIN, 0}}};
        ::poll(fds.data(), fds.size(), -1);
        if (fds[1].revents != 0) {
            return;
        }
    }
}

void Terminal::take_signals(News& news) {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
        switch (static_cast<int>(info.ssi_signo)) {
            case SIGWINCH:
                break;
            case SIGTSTP:
                suspend();
                break;
            case SIGCONT:  // after an unseen stop the terminal may be in its former state
                enter();
                break;
            default:
                ending_signal_ = static_cast<int>(info.ssi_signo);
                news.has_ended = true;
        }
        news.needs_drawing = true;
    }
}

/// A sequence that begins with an escape is a key without a letter.
void Terminal::take_keys(News& news) {
    std::array<char, 64> keys{};
    const ssize_t count = ::read(terminal_.get(), keys.data(), keys.size());
    if (count > 0 && keys[0] != '\033') {
        news.keys.assign(keys.data(), static_cast<std::size_t>(count));
    }
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        news.has_ended = true;
    }
}

}  // namespace tributary
