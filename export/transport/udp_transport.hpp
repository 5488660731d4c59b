// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "export/transport/socket.hpp"
#include "export/transport/transport.hpp"

namespace tributary {

/// Sends each message as one datagram through a connected socket, so that the kernel reports when
/// no process listens at the collector's port, or its host cannot be reached (ICMP). The report is
/// late, with a later datagram or within the time of a round trip, and covers some datagrams only:
/// all messages under way then are refused.
///
///     waiting for the name -> probing -> open -> pausing -> probing ...
///
/// With `udp-segmentation` messages of one size leave as one, and the kernel splits them into
/// datagrams (UDP_SEGMENT): by far the most of what a record costs is what the kernel does for each
/// datagram. Where it refuses (the message is longer than the MTU; the interface has no checksum
/// offload), each leaves alone from then on.
///
/// At first and after a refusal one message is sent, the templates. The others follow when it has
/// left this host and was not refused. So a collector that restarts loses the messages under way,
/// no more, and gets the templates first. Sequence numbers go on all the time: the collector sees
/// one session, and can compute how many it missed.
class UdpTransport final : public Transport {
public:
    static constexpr std::chrono::seconds kRetryAfter{1};  ///< after a refusal, or when the kernel
                                                           ///< cannot send
    static constexpr std::chrono::milliseconds kRefusalWait{200};  ///< for an ICMP message
    /// For the next hop's link-layer address; Linux gives up after 3 s with EHOSTUNREACH.
    static constexpr std::chrono::seconds kNeighbourWait{5};
    static constexpr std::chrono::seconds kResolveAfter{
        60};  ///< a name is resolved again after a failure

    /// @errors  ExportError: source_address is not a local address
    UdpTransport(const CollectorOptions& collector, CollectorEvents& events);

    void advance(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] std::uint64_t session() const noexcept override {
        return socket_ && !pausing() ? session_ : 0;
    }
    [[nodiscard]] bool is_proven() const noexcept override { return session() != 0 && !probing_; }
    [[nodiscard]] bool restarts_numbers() const noexcept override { return false; }
    [[nodiscard]] std::chrono::nanoseconds refusal_wait() const noexcept override {
        return kRefusalWait;
    }
    [[nodiscard]] SendResult send(std::span<const MessageView> messages,
                                  std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] SendOutcomes collect_outcomes(std::chrono::nanoseconds now) noexcept override;

private:
    [[nodiscard]] bool pausing() const noexcept { return retry_at_.has_value(); }
    void open(const std::vector<SocketAddress>& candidates, std::chrono::nanoseconds now) noexcept;
    void begin_session() noexcept;
    void deliver_unsettled() noexcept;
    void be_open(std::chrono::nanoseconds now) noexcept;
    [[nodiscard]] std::size_t send_some(std::span<const MessageView> messages,
                                        std::chrono::nanoseconds now) noexcept;
    [[nodiscard]] SendStatus cannot_send(int error, std::chrono::nanoseconds now) noexcept;
    void pause(std::chrono::nanoseconds now) noexcept;
    void refuse(int error, std::chrono::nanoseconds now) noexcept;
    void resolve_again(std::chrono::nanoseconds now) noexcept;

    CollectorEvents& events_;
    std::optional<SocketAddress> source_;
    Resolver resolver_;
    FileDescriptor socket_;
    SocketAddress peer_;
    std::uint64_t session_{};
    bool may_segment_;         ///< it is configured
    bool segments_{};          ///< the kernel splits what is sent into datagrams
    bool probing_{};           ///< one message is sent; its outcome decides about the others
    bool was_refused_{};       ///< and no sign of a listener since
    std::size_t unsettled_{};  ///< datagrams that may still be refused
    std::chrono::nanoseconds sent_at_{};
    std::chrono::nanoseconds probed_at_{};
    SendOutcomes outcomes_;  ///< not reported by collect_outcomes() yet
    std::optional<std::chrono::nanoseconds> retry_at_;
    std::chrono::nanoseconds resolved_at_{};
};

}  // namespace tributary
