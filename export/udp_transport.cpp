// SPDX-License-Identifier: Apache-2.0
#include "export/udp_transport.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace tributary {

UdpTransport::UdpTransport(const CollectorOptions& collector, CollectorEvents& events)
    : events_(events), source_(source_of(collector)), resolver_(collector, SOCK_DGRAM) {}

void UdpTransport::advance(std::chrono::nanoseconds now) noexcept {
    if (retry_at_ && now >= *retry_at_) {
        retry_at_.reset();
    }
    if (!socket_ && !resolver_.asking() && !retry_at_) {
        resolver_.start();
    }
    if (!resolver_.asking()) {
        return;
    }
    const auto found = resolver_.poll();
    if (!found) {
        return;
    }
    resolved_at_ = now;
    if (*found) {
        open(**found, now);
        return;
    }
    retry_at_ = now + kRetryAfter;
    events_.tell(CollectorEventKind::name_unknown, now, found->error());
}

void UdpTransport::open(const std::vector<SocketAddress>& candidates,
                        std::chrono::nanoseconds now) noexcept {
    int error = EADDRNOTAVAIL;
    for (const SocketAddress& candidate : candidates) {
        if (socket_ && candidate == peer_) {
            return;  // the name still says the same
        }
        auto socket = connect_socket(candidate, SOCK_DGRAM, source_);
        if (socket) {
            socket_ = std::move(*socket);
            peer_ = candidate;
            ++session_;
            events_.tell(CollectorEventKind::connected, now, {});
            return;
        }
        error = socket.error();
    }
    retry_at_ = now + kRetryAfter;
    events_.tell(CollectorEventKind::unreachable, now, words_for(error));
}

SendStatus UdpTransport::send(MessageView message, std::chrono::nanoseconds now) noexcept {
    if (!socket_ || retry_at_) {
        return SendStatus::would_block;
    }
    if (::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
        return SendStatus::sent;
    }
    switch (const int error = errno) {
        case ECONNREFUSED:
            refused(now);
            return SendStatus::refused;
        case EMSGSIZE:
            events_.tell(CollectorEventKind::message_too_large, now, {});
            return SendStatus::lost;
        case EAGAIN:
        case EINTR:
        case ENOBUFS:
            return SendStatus::would_block;
        default:
            retry_at_ = now + kRetryAfter;
            events_.tell(CollectorEventKind::unreachable, now, words_for(error));
            resolve_again(now);
            return SendStatus::would_block;
    }
}

bool UdpTransport::last_was_refused(std::chrono::nanoseconds now) noexcept {
    if (!socket_ || take_socket_error(socket_) != ECONNREFUSED) {
        return false;
    }
    refused(now);
    return true;
}

void UdpTransport::refused(std::chrono::nanoseconds now) noexcept {
    events_.tell(CollectorEventKind::refused, now, {});
    resolve_again(now);
}

void UdpTransport::resolve_again(std::chrono::nanoseconds now) noexcept {
    if (!resolver_.is_numeric() && !resolver_.asking() && now - resolved_at_ >= kResolveAfter) {
        resolver_.start();
    }
}

}  // namespace tributary
