// SPDX-License-Identifier: Apache-2.0
#include "export/transport/octet_stream.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace tributary {

std::shared_ptr<const TlsContext> OctetStream::read_files_anew() const { return nullptr; }

void PlainStream::begin(const FileDescriptor& socket) noexcept {
    socket_ = socket.get();
    sent_ = 0;
}

std::optional<std::size_t> PlainStream::send(std::span<const std::byte> octets) noexcept {
    const ssize_t sent = ::send(socket_, octets.data(), octets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
        sent_ += static_cast<std::uint64_t>(sent);
        return static_cast<std::size_t>(sent);
    }
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS) {
        return 0;
    }
    fault_ = words_for(errno);
    return std::nullopt;
}

bool PlainStream::hear() noexcept {
    std::array<std::byte, 512> ignored;
    const ssize_t received = ::recv(socket_, ignored.data(), ignored.size(), MSG_DONTWAIT);
    if (received == 0) {
        fault_ = "closed by the collector";
        return false;
    }
    if (received < 0 && errno != EAGAIN && errno != EINTR) {
        fault_ = words_for(errno);
        return false;
    }
    return true;
}

}  // namespace tributary
