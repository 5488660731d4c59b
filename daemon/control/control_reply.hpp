// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tributary {

// One connection to the control socket:
//
//     -> a command's name and its arguments, a line
//     <- the command's output, in parts: each part's octets (32 bits, network byte order), and
//        the part
//     <- 0 octets, then "ok", or why the command failed
//
// A client that closes its sending side asks a command that goes on, such as `dump`, to end.

/// Sends the answer to one command to the client.
class ControlReply {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// A client that takes nothing for so long is cut off. The pager of a listing may take long.
    static constexpr std::chrono::seconds kPatience{60};

    explicit ControlReply(int socket) noexcept : socket_(socket) {}

    /// @return  false: the client has closed its connection
    /// @thread  the command's
    bool write(std::span<const std::byte> octets);
    bool write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
    /// Ends the answer; without effect if it has ended.
    ///
    /// @param verdict  kGoodVerdict, or why the command failed
    void end(std::string_view verdict);

    /// Whether the client has closed its sending side or the connection: it asks a command that
    /// goes on for some time to end its answer, or is gone.
    [[nodiscard]] bool has_enough() const noexcept;
    /// The user id of the client's process; nothing: the system does not tell.
    [[nodiscard]] std::optional<uid_t> user() const noexcept;
    /// Since when the client has not taken the present part; nullopt: no part is being sent.
    /// @thread  any
    [[nodiscard]] std::optional<Time> waits_since() const noexcept;

private:
    bool send(std::span<const std::byte> octets);
    [[nodiscard]] bool wait_for_reader() const noexcept;
    ssize_t send_some(std::span<const std::byte> octets) noexcept;

    int socket_;
    bool has_ended_ = false;
    std::atomic<Time::rep> waits_since_{0};  ///< 0: no part is being sent
};

/// Writes the answer; the message of an exception becomes the answer's end.
using ControlCommand = std::function<void(const std::string& arguments, ControlReply& reply)>;
using ControlCommands = std::map<std::string, ControlCommand, std::less<>>;

/// Octets of a command's line, with its end; a longer one is refused.
inline constexpr std::size_t kLongestControlLine = 4096;

/// Where the command's line ends in the client's octets; npos: not yet, or the line is too long.
[[nodiscard]] inline std::size_t command_end(std::string_view octets) noexcept {
    return octets.substr(0, kLongestControlLine).find('\n');
}

/// Why a longer line is refused, by the client before it is sent, and by the server.
[[nodiscard]] inline std::string too_long_command() {
    return "the command is longer than " + std::to_string(kLongestControlLine - 1) +
           " octets: a shorter filter is needed";
}

/// Runs one command, and ends the answer.
///
/// @param line  without its line end
/// @thread      the connection's
void answer_command(const std::string& line, ControlReply& reply, const ControlCommands& commands);

}  // namespace tributary
