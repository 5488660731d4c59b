// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "daemon/control/control_socket.hpp"
#include "export/file_descriptor.hpp"

// The control socket's two ends, octet by octet.
namespace tributary::test {

/// One end of a connection on a unix socket.
class ControlPeer {
public:
    explicit ControlPeer(FileDescriptor socket) : socket_(std::move(socket)) {
        if (!socket_) {
            throw std::runtime_error("no connection to the control socket");
        }
    }
    /// A client of the server at this path.
    explicit ControlPeer(const std::string& path) : ControlPeer(connect_to_control(path)) {}

    /// @return  false: the other end is closed
    bool send(const std::string& octets) const {
        return ::send(socket_.get(), octets.data(), octets.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(octets.size());
    }
    /// @return  so many octets, or those before the other end has closed
    [[nodiscard]] std::string read(std::size_t count) const {
        std::string all;
        while (all.size() < count) {
            std::array<char, 65'536> part{};
            await();
            const ssize_t octets = ::recv(socket_.get(), part.data(),
                                          std::min(part.size(), count - all.size()), MSG_DONTWAIT);
            if (octets <= 0) {
                break;
            }
            all.append(part.data(), static_cast<std::size_t>(octets));
        }
        return all;
    }
    [[nodiscard]] std::string read_to_end() const { return read(std::string::npos); }
    /// Whether the other end has closed, and all was read.
    [[nodiscard]] bool has_ended() const {
        char octet = 0;
        const ssize_t octets = ::recv(socket_.get(), &octet, 1, MSG_PEEK | MSG_DONTWAIT);
        return octets == 0 || (octets < 0 && errno == ECONNRESET);
    }
    /// Whether something can be read.
    [[nodiscard]] bool has_octets() const {
        char octet = 0;
        return ::recv(socket_.get(), &octet, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    }
    /// Nothing more is sent to the other end, which may still send.
    void end_sending() const { ::shutdown(socket_.get(), SHUT_WR); }

private:
    void await() const {
        constexpr int kMilliseconds = 30'000;
        pollfd fd{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&fd, 1, kMilliseconds) != 1) {
            throw std::runtime_error("the other end says nothing, and does not end");
        }
    }

    FileDescriptor socket_;
};

/// A part of an answer as it is on the wire.
inline std::string control_part(const std::string& octets) {
    std::string part;
    for (int shift = 24; shift >= 0; shift -= 8) {
        part += static_cast<char>(octets.size() >> static_cast<unsigned>(shift) & 0xFFU);
    }
    return part + octets;
}

/// The end of an answer as it is on the wire.
inline std::string control_end(const std::string& verdict) {
    return std::string(4, '\0') + verdict;
}

}  // namespace tributary::test
