// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "export/file_descriptor.hpp"

// Collectors on 127.0.0.1, at a port that the kernel chooses.
namespace tributary::test {

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

/// A bound socket; port 0: any.
inline FileDescriptor bind_loopback(int type, std::uint16_t port) {
    FileDescriptor socket(::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    const sockaddr_in address = loopback(port);
    if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw std::runtime_error("no socket on 127.0.0.1");
    }
    return socket;
}

inline std::uint16_t port_of(const FileDescriptor& socket) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        throw std::runtime_error("getsockname");
    }
    return ntohs(address.sin_port);
}

/// The octets that can be read at once; nullopt: none. An empty vector is the end of the stream.
inline std::optional<std::vector<std::byte>> receive(const FileDescriptor& socket) {
    std::vector<std::byte> octets(65'536);
    const ssize_t count = ::recv(socket.get(), octets.data(), octets.size(), MSG_DONTWAIT);
    if (count < 0) {
        return std::nullopt;
    }
    octets.resize(static_cast<std::size_t>(count));
    return octets;
}

/// Accepts a pending connection.
inline FileDescriptor accept_one(const FileDescriptor& listener) {
    return FileDescriptor(
        ::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace tributary::test
