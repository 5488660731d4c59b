// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tributary {

// One connection to the control socket:
//
//     -> a command's name and its arguments, a line
//     <- what the command writes, in parts: each part's octets (32 bits, network byte order), and
//        the part
//     <- 0 octets, and behind that "ok", or why the command failed

/// The answer to one command, on its way to the client.
class ControlReply {
public:
    explicit ControlReply(int socket) noexcept : socket_(socket) {}

    /// @return  false: the client has closed its connection
    /// @thread  the command's
    bool write(std::span<const std::byte> octets);
    bool write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
    /// The end of the answer.
    ///
    /// @param verdict  kGoodVerdict, or why the command failed
    void end(std::string_view verdict);

private:
    bool send(std::span<const std::byte> octets);

    int socket_;
};

/// Writes the answer; what it throws is said at the answer's end.
using ControlCommand = std::function<void(const std::string& arguments, ControlReply& reply)>;
using ControlCommands = std::map<std::string, ControlCommand, std::less<>>;

/// Octets of a command's line, its end among them; a longer one is not answered.
inline constexpr std::size_t kLongestControlLine = 4096;

/// Reads one command from a connection, runs it, and ends the answer. Without a command there is no
/// answer.
///
/// @param socket  connected; its time-outs bound the waiting
/// @thread        the connection's
void answer_command(int socket, const ControlCommands& commands);

}  // namespace tributary
