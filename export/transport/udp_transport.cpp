// SPDX-License-Identifier: Apache-2.0
#include "export/transport/udp_transport.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tributary {
namespace {

/// Sends datagrams in one system call. @return  how many; -1: none, see errno
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
    if (!socket_) {  // otherwise the old address stays in use
        pause(now);
    }
    events_.report(CollectorEventKind::name_unknown, now, found->error());
}

void UdpTransport::open(const std::vector<SocketAddress>& candidates,
                        std::chrono::nanoseconds now) noexcept {
    if (socket_ && std::ranges::find(candidates, peer_) != candidates.end()) {
        return;  // the name has the same address
    }
    int error = EADDRNOTAVAIL;
    for (const SocketAddress& candidate : candidates) {
        auto socket = connect_socket(candidate, SOCK_DGRAM, source_);
        if (socket) {
            deliver_unsettled();  // to the old address
            socket_ = std::move(*socket);
            report_refusals(socket_, candidate.family());
            peer_ = candidate;
            begin_session();
            events_.report(CollectorEventKind::connected, now, {});
            return;
        }
        error = socket.error();
    }
    pause(now);
    events_.report(CollectorEventKind::unreachable, now, words_for(error));
}

/// Nothing is sent for a while. The session ends, so the outcome of sent messages must be reported
/// now.
void UdpTransport::pause(std::chrono::nanoseconds now) noexcept {
    deliver_unsettled();
    retry_at_ = now + kRetryAfter;
}

void UdpTransport::begin_session() noexcept {
    ++session_;
    probing_ = true;
}

void UdpTransport::deliver_unsettled() noexcept {
    outcomes_.delivered += std::exchange(unsettled_, 0);
}

SendResult UdpTransport::send(std::span<const MessageView> messages,
                              std::chrono::nanoseconds now) noexcept {
    if (session() == 0 || (probing_ && unsettled_ > 0)) {
        return {.taken = 0, .rest = SendStatus::would_block};
    }
    if (const int error = take_icmp_error(socket_); error != 0) {
        refuse(error, now);
        return {.taken = 0, .rest = SendStatus::would_block};
    }
    const std::span<const MessageView> offered = probing_ ? messages.first(1) : messages;
    const int count = send_datagrams(socket_, offered);
    if (count < 0) {
        return {.taken = 0, .rest = cannot_send(errno, now)};
    }
    const auto taken = static_cast<std::size_t>(count);
    sent_at_ = now;
    probed_at_ = probing_ ? now : probed_at_;
    const int error = taken < offered.size() ? take_icmp_error(socket_) : 0;
    if (error != 0) {  // sendmmsg() returns no reason
        unsettled_ += taken;
        refuse(error, now);
    } else {
        deliver_unsettled();  // earlier ones were not refused
        unsettled_ = taken;
    }
    return {.taken = taken,
            .rest = taken == messages.size() ? SendStatus::taken : SendStatus::would_block};
}

SendStatus UdpTransport::cannot_send(int error, std::chrono::nanoseconds now) noexcept {
    switch (error) {
        case ECONNREFUSED:
        case EHOSTUNREACH:
        case ENETUNREACH:
            static_cast<void>(take_icmp_error(socket_));  // the same once more
            refuse(error, now);
            return SendStatus::would_block;
        case EMSGSIZE:
            events_.report(CollectorEventKind::message_too_large, now, {});
            return SendStatus::lost;
        case EAGAIN:
        case EINTR:
        case ENOBUFS:
            return SendStatus::would_block;
        default:
            pause(now);
            events_.report(CollectorEventKind::unreachable, now, words_for(error));
            resolve_again(now);
            return SendStatus::would_block;
    }
}

SendOutcomes UdpTransport::collect_outcomes(std::chrono::nanoseconds now) noexcept {
    if (probing_ && unsettled_ > 0 && now - probed_at_ < kNeighbourWait &&
        holds_datagrams(socket_)) {
        sent_at_ = now;  // the time for a refusal begins when it leaves
    }
    if (unsettled_ > 0 && now - sent_at_ >= kRefusalWait) {
        if (const int error = take_icmp_error(socket_); error != 0) {
            refuse(error, now);
        } else {
            be_open(now);
        }
    }
    return std::exchange(outcomes_, {});
}

/// The collector has not refused the sent messages.
void UdpTransport::be_open(std::chrono::nanoseconds now) noexcept {
    deliver_unsettled();
    probing_ = false;
    if (std::exchange(was_refused_, false)) {
        events_.report(CollectorEventKind::connected, now, {});
    }
}

/// The messages under way have not arrived.
void UdpTransport::refuse(int error, std::chrono::nanoseconds now) noexcept {
    outcomes_.refused += std::exchange(unsettled_, 0);
    was_refused_ = true;
    pause(now);
    events_.report(CollectorEventKind::refused, now, words_for(error));
    resolve_again(now);
}

void UdpTransport::resolve_again(std::chrono::nanoseconds now) noexcept {
    if (!resolver_.is_numeric() && !resolver_.asking() && now - resolved_at_ >= kResolveAfter) {
        resolver_.start();
    }
}

}  // namespace tributary
