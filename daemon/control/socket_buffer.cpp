// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/socket_buffer.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace tributary {

SocketBuffer::int_type SocketBuffer::underflow() {
    if (left_ == 0 && !begin_part()) {
        return traits_type::eof();
    }
    const std::size_t octets = receive(octets_.data(), std::min(left_, octets_.size()));
    if (octets == 0) {
        return traits_type::eof();
    }
    left_ -= octets;
    setg(octets_.data(), octets_.data(), octets_.data() + octets);
    return traits_type::to_int_type(*gptr());
}

/// @return  false: no more parts
bool SocketBuffer::begin_part() {
    std::array<char, sizeof(std::uint32_t)> header{};
    for (std::size_t at = 0; at < header.size();) {
        const std::size_t octets = receive(header.data() + at, header.size() - at);
        if (octets == 0) {
            return false;
        }
        at += octets;
    }
    std::uint32_t octets = 0;
    std::memcpy(&octets, header.data(), sizeof octets);
    left_ = ntohl(octets);
    if (left_ > 0) {
        return true;
    }
    std::array<char, 256> part{};
    while (verdict_.size() < kLongestVerdict) {
        const std::size_t said = receive(part.data(), part.size());
        if (said == 0) {
            break;
        }
        verdict_.append(part.data(), said);
    }
    return false;
}

/// @return  0: the connection has ended, or no octets came in time
std::size_t SocketBuffer::receive(char* out, std::size_t most) {
    for (;;) {
        const WaitEnd end = wait_(socket_.get(), patience_);
        timed_out_ = end == WaitEnd::timed_out;
        if (end != WaitEnd::ready) {
            return 0;
        }
        const ssize_t octets = ::recv(socket_.get(), out, most, MSG_DONTWAIT);
        if (octets >= 0) {
            return static_cast<std::size_t>(octets);
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            return 0;
        }
    }
}

SocketBuffer::WaitEnd SocketBuffer::wait_idly(int socket, std::chrono::milliseconds most) noexcept {
    using std::chrono::milliseconds;
    using std::chrono::steady_clock;
    const bool is_limited = most.count() >= 0;
    const auto deadline = steady_clock::now() + most;
    pollfd fd{.fd = socket, .events = POLLIN, .revents = 0};
    milliseconds left = most;
    while (::poll(&fd, 1, static_cast<int>(left.count())) <= 0) {
        left = is_limited ? std::chrono::ceil<milliseconds>(deadline - steady_clock::now()) : most;
        if (is_limited && left.count() <= 0) {
            return WaitEnd::timed_out;
        }
    }
    return WaitEnd::ready;
}

}  // namespace tributary
