// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "export/socket.hpp"
#include "export/transport.hpp"

namespace tributary {

/// Sends each message as one datagram through a connected socket, so that the kernel reports
/// refusals. It reports them late, with the datagram after the refused one; SendStatus::refused
/// says that.
class UdpTransport final : public Transport {
public:
    static constexpr std::chrono::seconds kRetryAfter{1};  ///< when the kernel cannot send
    static constexpr std::chrono::seconds kResolveAfter{
        60};  ///< a name again, when there is trouble

    /// @errors  ExportError: source_address is not a local address
    UdpTransport(const CollectorOptions& collector, CollectorEvents& events);

    void advance(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] std::uint64_t session() const noexcept override { return socket_ ? session_ : 0; }
    [[nodiscard]] SendStatus send(MessageView message,
                                  std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] bool last_was_refused(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] bool failed() const noexcept override { return false; }

private:
    void open(const std::vector<SocketAddress>& candidates, std::chrono::nanoseconds now) noexcept;
    void refused(std::chrono::nanoseconds now) noexcept;
    void resolve_again(std::chrono::nanoseconds now) noexcept;

    CollectorEvents& events_;
    std::optional<SocketAddress> source_;
    Resolver resolver_;
    FileDescriptor socket_;
    SocketAddress peer_;
    std::uint64_t session_{};
    std::optional<std::chrono::nanoseconds> retry_at_;
    std::chrono::nanoseconds resolved_at_{};
};

}  // namespace tributary
