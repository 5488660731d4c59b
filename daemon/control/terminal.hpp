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

/// The terminal of standard output as a program has it that fills it: a screen of its own (where
/// the terminal has one), keys without Enter and echo, no cursor.
///
/// What was there before is back when this ends: by its destructor, also while an exception goes
/// up, before a signal stops the process (Ctrl-Z), and before SIGSEGV, SIGABRT and their like end
/// it. All other signals that end a process are ordinary events here. In the background nothing is
/// drawn.
/// @thread  main, the only one; there is at most one object at a time
class Terminal {
public:
    /// @return  nullptr: standard output is no terminal, or one that cannot move its cursor (TERM
    ///          is empty or "dumb")
    [[nodiscard]] static std::unique_ptr<Terminal> open();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    /// Rows and columns of now.
    [[nodiscard]] ScreenSize size() const;
    /// Fills the screen; what is below the last line is empty.
    void draw(const ScreenLines& lines);

    struct News {
        std::string keys;
        bool needs_drawing{};  ///< it has another size, or is ours again
        bool has_ended{};      ///< a signal is to end the process, or the terminal has gone
    };
    /// Waits for a key or a signal, or until the socket has something to read.
    ///
    /// @param socket  -1: none
    /// @param time    at the most
    [[nodiscard]] News wait(int socket, std::chrono::milliseconds time);
    /// After News::has_ended: the signal that is to end the process; nothing: the terminal has
    /// gone.
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

    FileDescriptor terminal_;  ///< opened anew, so that only our writing does not block
    FileDescriptor signals_;   ///< a signalfd
    sigset_t former_mask_;
    termios former_;
    bool is_in_ = false;
    bool has_colors_;
    std::optional<int> ending_signal_;
};

}  // namespace tributary
