// SPDX-License-Identifier: Apache-2.0
#include "daemon/socket_buffer.hpp"

#include <arpa/inet.h>
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

/// @return  false: there is none any more
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

/// @return  0: the connection has ended, or nothing comes
std::size_t SocketBuffer::receive(char* out, std::size_t most) {
    if (wait_ && !wait_(socket_.get())) {
        return 0;
    }
    ssize_t octets = -1;
    do {
        octets = ::recv(socket_.get(), out, most, 0);
    } while (octets < 0 && errno == EINTR);
    timed_out_ = octets < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    return octets > 0 ? static_cast<std::size_t>(octets) : 0;
}

}  // namespace tributary
