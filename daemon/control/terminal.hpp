// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/control/top_screen.hpp"
#include "export/file_descriptor.hpp"

namespace tributary {

/// The terminal of standard output for a full-screen program: a screen of its own (if the terminal
/// has one), keys without Enter and echo, no cursor.
///
/// It restores the former state: in its destructor, also during an exception, before a signal stops
/// the process (Ctrl-Z), and before SIGSEGV, SIGABRT and similar end it. All other signals that end
/// a process are ordinary events here. In the background nothing is drawn.
/// @thread  main, the only thread; at most one object at a time
class Terminal {
public:
    /// @return  nullptr: standard output is no terminal, or cannot move its cursor (TERM is empty
    ///          or "dumb")
    [[nodiscard]] static std::unique_ptr<Terminal> open();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    /// The present rows and columns.
    [[nodiscard]] ScreenSize size() const;
    /// Draws the screen; the rest below the last line is empty.
    void draw(const ScreenLines& lines);

    struct News {
        std::string keys;
        bool needs_drawing{};  ///< the size has changed, or the process is in the foreground again
        bool has_ended{};      ///< a signal is to end the process, or the terminal is gone
    };
    /// Waits for a key or a signal, or until the socket is readable.
    ///
    /// @param socket  -1: none
    /// @param time    at most
    [[nodiscard]] News wait(int socket, std::chrono::milliseconds time);
    /// After News::has_ended: the signal that is to end the process; nullopt: the terminal is gone.
    [[nodiscard]] std::optional<int> ending_signal() const noexcept { return ending_signal_; }

private:
    Terminal(FileDescriptor terminal, FileDescriptor signals, const sigset_t& former_mask,
             const termios& former);

    void enter();
    void leave() noexcept;
    void suspend();
    [[nodiscard]] bool is_ours() const;
    void write(std::string_view text);
    void take_signals(News& news);
    void take_keys(News& news);

    FileDescriptor terminal_;  ///< opened anew, so that only our own writes are non-blocking
    FileDescriptor signals_;   ///< a signalfd
    sigset_t former_mask_;
    termios former_;
    bool is_in_ = false;
    bool has_colors_;
    std::optional<int> ending_signal_;
};

}  // namespace tributary
