// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <streambuf>
#include <utility>

#include "export/socket.hpp"

namespace tributary {

/// Reads a stream socket as an std::istream does; an error is the end of the stream.
class SocketBuffer final : public std::streambuf {
public:
    explicit SocketBuffer(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

protected:
    int_type underflow() override {
        ssize_t octets = -1;
        do {
            octets = ::recv(socket_.get(), octets_.data(), octets_.size(), 0);
        } while (octets < 0 && errno == EINTR);
        if (octets <= 0) {
            return traits_type::eof();
        }
        setg(octets_.data(), octets_.data(), octets_.data() + octets);
        return traits_type::to_int_type(*gptr());
    }

private:
    FileDescriptor socket_;
    std::array<char, 65'536> octets_{};
};

}  // namespace tributary
