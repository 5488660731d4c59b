// SPDX-License-Identifier: Apache-2.0
#include "export/udp_transport.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tributary {
namespace {

/// Sends datagrams in one system call. @return  how many; -1: none, errno tells why
int send_datagrams(const FileDescriptor& socket, std::span<const MessageView> messages) noexcept {
    std::array<iovec, Transport::kMostMessages> parts;
    std::array<mmsghdr, Transport::kMostMessages> datagrams{};
    const std::size_t count = std::min(messages.size(), parts.size());
    for (std::size_t i = 0; i < count; ++i) {
        // sendmmsg() only reads what it sends; its interface has no const.
        parts[i] = {.iov_base = const_cast<std::byte*>(messages[i].data()),
                    .iov_len = messages[i].size()};
        datagrams[i].msg_hdr.msg_iov = &parts[i];
        datagrams[i].msg_hdr.msg_iovlen = 1;
    }
    return ::sendmmsg(socket.get(), datagrams.data(), static_cast<unsigned>(count),
                      MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

UdpTransport::UdpTransport(const CollectorOptions& collector, CollectorEvents& events)
    : events_(events), source_(source_of(collector)), resolver_(collector, SOCK_DGRAM) {}

void UdpTransport::advance(std::chrono::nanoseconds now) noexcept {
    if (retry_at_ && now >= *retry_at_) {
        retry_at_.reset();
        if (socket_) {
            begin_session();
        }
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
            deliver_unsettled();  // to the old address
            socket_ = std::move(*socket);
            report_refusals(socket_, candidate.family());
            peer_ = candidate;
            begin_session();
            events_.tell(CollectorEventKind::connected, now, {});
            return;
        }
        error = socket.error();
    }
    retry_at_ = now + kRetryAfter;
    events_.tell(CollectorEventKind::unreachable, now, words_for(error));
}

void UdpTransport::begin_session() noexcept {
    ++session_;
    probing_ = true;
}

void UdpTransport::deliver_unsettled() noexcept {
    fates_.delivered += std::exchange(unsettled_, 0);
}

SendResult UdpTransport::send(std::span<const MessageView> messages,
                              std::chrono::nanoseconds now) noexcept {
    if (session() == 0 || (probing_ && unsettled_ > 0)) {
        return {.taken = 0, .rest = SendStatus::would_block};
    }
    if (take_refusal(socket_)) {
        refuse(now);
        return {.taken = 0, .rest = SendStatus::would_block};
    }
    const std::span<const MessageView> offered = probing_ ? messages.first(1) : messages;
    const int count = send_datagrams(socket_, offered);
    if (count < 0) {
        return {.taken = 0, .rest = cannot_send(errno, now)};
    }
    deliver_unsettled();  // no refusal of earlier ones stood in the way
    const auto taken = static_cast<std::size_t>(count);
    unsettled_ = taken;
    sent_at_ = now;
    if (taken < offered.size() && take_refusal(socket_)) {  // sendmmsg() tells no reason
        refuse(now);
    }
    return {.taken = taken,
            .rest = taken == messages.size() ? SendStatus::taken : SendStatus::would_block};
}

SendStatus UdpTransport::cannot_send(int error, std::chrono::nanoseconds now) noexcept {
    switch (error) {
        case ECONNREFUSED:
            static_cast<void>(take_refusal(socket_));  // the same once more
            refuse(now);
            return SendStatus::would_block;
        case EMSGSIZE:
            events_.tell(CollectorEventKind::message_too_large, now, {});
            return SendStatus::lost;
        case EAGAIN:
        case EINTR:
        case ENOBUFS:
            return SendStatus::would_block;
        case EHOSTUNREACH:  // also of those before
            fates_.refused += std::exchange(unsettled_, 0);
            [[fallthrough]];
        default:
            deliver_unsettled();
            retry_at_ = now + kRetryAfter;
            events_.tell(CollectorEventKind::unreachable, now, words_for(error));
            resolve_again(now);
            return SendStatus::would_block;
    }
}

Fates UdpTransport::settle(std::chrono::nanoseconds now) noexcept {
    if (unsettled_ > 0 && now - sent_at_ >= kRefusalWait) {
        if (take_refusal(socket_)) {
            refuse(now);
        } else {
            be_open(now);
        }
    }
    return std::exchange(fates_, {});
}

/// The collector has not refused what was sent.
void UdpTransport::be_open(std::chrono::nanoseconds now) noexcept {
    deliver_unsettled();
    probing_ = false;
    if (std::exchange(was_refused_, false)) {
        events_.tell(CollectorEventKind::connected, now, {});
    }
}

void UdpTransport::refuse(std::chrono::nanoseconds now) noexcept {
    fates_.refused += std::exchange(unsettled_, 0);
    was_refused_ = true;
    retry_at_ = now + kRetryAfter;
    events_.tell(CollectorEventKind::refused, now, {});
    resolve_again(now);
}

void UdpTransport::resolve_again(std::chrono::nanoseconds now) noexcept {
    if (!resolver_.is_numeric() && !resolver_.asking() && now - resolved_at_ >= kResolveAfter) {
        resolver_.start();
    }
}

}  // namespace tributary
