// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_reply.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>

#include "daemon/control_socket.hpp"

namespace tributary {
namespace {

/// @return  the first line that comes, without its end; nothing: none came
std::optional<std::string> read_line(int socket) {
    std::string line;
    std::array<char, 512> part{};
    while (line.size() < kLongestControlLine) {
        const ssize_t octets = ::recv(socket, part.data(), part.size(), 0);
        if (octets <= 0) {
            return std::nullopt;
        }
        line.append(part.data(), static_cast<std::size_t>(octets));
        if (const std::size_t end = line.find('\n'); end != std::string::npos) {
            return line.substr(0, end);
        }
    }
    return std::nullopt;
}

}  // namespace

bool ControlReply::write(std::span<const std::byte> octets) {
    const std::uint32_t count = htonl(static_cast<std::uint32_t>(octets.size()));
    return octets.empty() || (send(std::as_bytes(std::span(&count, 1))) && send(octets));
}

void ControlReply::end(std::string_view verdict) {
    constexpr std::uint32_t kNoMore = 0;
    static_cast<void>(send(std::as_bytes(std::span(&kNoMore, 1))) &&
                      send(std::as_bytes(std::span(verdict))));
}

bool ControlReply::send(std::span<const std::byte> octets) {
    while (!octets.empty()) {
        const ssize_t sent = ::send(socket_, octets.data(), octets.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        octets = octets.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

void answer_command(int socket, const ControlCommands& commands) {
    const std::optional<std::string> line = read_line(socket);
    if (!line) {
        return;
    }
    ControlReply reply(socket);
    const std::size_t space = line->find(' ');
    const auto command = commands.find(line->substr(0, space));
    try {
        if (command == commands.end()) {
            throw std::runtime_error("no such command");
        }
        command->second(space == std::string::npos ? std::string() : line->substr(space + 1),
                        reply);
        reply.end(kGoodVerdict);
    } catch (const std::exception& error) {
        reply.end(error.what());
    }
}

}  // namespace tributary
