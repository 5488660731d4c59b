// SPDX-License-Identifier: Apache-2.0
#include "export/transport/udp_transport.hpp"

#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tributary {
namespace {

/// The messages from the first on that may leave as one: they have its size, and the last one may
/// be shorter.
std::size_t of_one_size(std::span<const MessageView> messages) noexcept {
    constexpr std::size_t kMostOctets = 65'000;  // fits an IP packet, with any headers
    const std::size_t size = messages.front().size();
    std::size_t octets = size;
    std::size_t count = 1;
    while (count < messages.size() && messages[count - 1].size() == size &&
           messages[count].size() <= size && octets + messages[count].size() <= kMostOctets) {
        octets += messages[count++].size();
    }
    return count;
}

/// Messages for one system call, in groups that leave as one each.
class Groups {
public:
    /// @param segments  whether a group may have several messages
    Groups(std::span<const MessageView> messages, bool segments) noexcept {
        const std::size_t all = std::min(messages.size(), parts_.size());
        for (std::size_t first = 0; first < all;) {
            const std::span<const MessageView> rest = messages.first(all).subspan(first);
            const std::size_t count = segments ? of_one_size(rest) : 1;
            add(rest.first(count), first);
            first += count;
        }
    }
    /// @return  how many messages have left; 0: none, see errno
    [[nodiscard]] std::size_t send(const FileDescriptor& socket) noexcept {
        const int sent = ::sendmmsg(socket.get(), headers_.data(), static_cast<unsigned>(count_),
                                    MSG_NOSIGNAL | MSG_DONTWAIT);
        std::size_t messages = 0;
        for (int group = 0; group < sent; ++group) {
            messages += headers_[static_cast<std::size_t>(group)].msg_hdr.msg_iovlen;
        }
        return messages;
    }
    [[nodiscard]] bool first_has_several() const noexcept {
        return headers_.front().msg_hdr.msg_iovlen > 1;
    }

private:
    using SegmentOctets = std::uint16_t;
    struct alignas(cmsghdr) Control {
        std::array<std::byte, CMSG_SPACE(sizeof(SegmentOctets))> octets{};
    };

    void add(std::span<const MessageView> group, std::size_t first) noexcept {
        for (std::size_t i = 0; i < group.size(); ++i) {
            // sendmmsg() does not change the octets, although iovec has no const.
            parts_[first + i] = {.iov_base = const_cast<std::byte*>(group[i].data()),
                                 .iov_len = group[i].size()};
        }
        msghdr& header = headers_[count_].msg_hdr;
        header.msg_iov = &parts_[first];
        header.msg_iovlen = group.size();
        if (group.size() > 1) {
            header.msg_control = controls_[count_].octets.data();
            header.msg_controllen = controls_[count_].octets.size();
            cmsghdr* const control = CMSG_FIRSTHDR(&header);
            control->cmsg_level = SOL_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof(SegmentOctets));
            const auto octets = static_cast<SegmentOctets>(group.front().size());
            std::memcpy(CMSG_DATA(control), &octets, sizeof octets);
        }
        ++count_;
    }

    std::array<iovec, Transport::kMostMessages> parts_{};
    std::array<mmsghdr, Transport::kMostMessages> headers_{};
    std::array<Control, Transport::kMostMessages> controls_{};
    std::size_t count_{};
};

/// Whether an error of sendmmsg() may mean that the kernel cannot split messages into datagrams.
bool refuses_segments(int error) noexcept {
    return error == EIO || error == EINVAL || error == EMSGSIZE || error == EOPNOTSUPP;
}

}  // namespace

UdpTransport::UdpTransport(const CollectorOptions& collector, CollectorEvents& events)
    : events_(events),
      source_(source_of(collector)),
      resolver_(collector, SOCK_DGRAM),
      may_segment_(collector.udp_segmentation) {}

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
            segments_ = may_segment_ && can_segment(socket_);
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
    const std::size_t taken = send_some(offered, now);
    if (taken == 0) {
        return {.taken = 0, .rest = cannot_send(errno, now)};
    }
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

/// @return  how many messages have left; 0: none, see errno
std::size_t UdpTransport::send_some(std::span<const MessageView> messages,
                                    std::chrono::nanoseconds now) noexcept {
    Groups groups(messages, segments_);
    const std::size_t taken = groups.send(socket_);
    if (taken > 0 || !groups.first_has_several() || !refuses_segments(errno)) {
        return taken;
    }
    segments_ = false;
    events_.report(CollectorEventKind::sent_singly, now, words_for(errno));
    return Groups(messages, false).send(socket_);
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
            events_.report(CollectorEventKind::message_too_large, now, "lower mtu");
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
