// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "export/transport/octet_stream.hpp"
#include "export/transport/socket.hpp"
#include "export/transport/transport.hpp"

namespace tributary {

/// Sends messages through a TCP connection, as they are or through TLS. After a pause it opens a
/// lost connection again. The pause is counted from the beginning of the try before it. It doubles
/// each time, until a connection has lasted long, and is stretched by up to a half at random, so
/// that many exporters do not come back to a collector all at the same moment; it is never longer
/// than kLongestPause. While the collector's buffer is half full it is at most kShortPause, and at
/// the end kLastPause.
///
/// IPFIX has no acknowledgements. A message is delivered when the collector's kernel has
/// acknowledged all its octets. Whether the collector then processes them is unknown.
class TcpTransport final : public Transport {
public:
    static constexpr std::chrono::milliseconds kFirstPause{250};
    static constexpr std::chrono::seconds kLongestPause{10};  ///< with all that is added
    static constexpr std::chrono::seconds kShortPause{1};
    static constexpr std::chrono::milliseconds kLastPause{250};
    static constexpr std::chrono::seconds kConnectTimeout{10};
    static constexpr std::chrono::seconds kLongConnection{10};
    /// So many connections in a row that the collector ends so soon, with messages sent, are
    /// logged: it may end them because of the messages. A try that fails to connect breaks the row:
    /// the collector was stopped.
    static constexpr std::chrono::seconds kShortConnection{2};
    static constexpr unsigned kFewConnections = 3;

    /// @errors  ExportError: source_address is not a local address
    TcpTransport(const CollectorOptions& collector, CollectorEvents& events,
                 std::unique_ptr<OctetStream> stream);
    TcpTransport(const TcpTransport&) = delete;
    TcpTransport& operator=(const TcpTransport&) = delete;
    ~TcpTransport() override;

    void advance(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] std::uint64_t session() const noexcept override {
        return state_ == State::connected ? session_ : 0;
    }
    [[nodiscard]] SendResult send(std::span<const MessageView> messages,
                                  std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] SendOutcomes collect_outcomes(std::chrono::nanoseconds now) noexcept override;
    void set_patience(Patience patience) noexcept override;
    void try_now() noexcept override;
    [[nodiscard]] std::optional<std::chrono::nanoseconds> next_try() const noexcept override;
    [[nodiscard]] std::shared_ptr<const TlsContext> read_files_anew() const override;
    void begin_with(std::shared_ptr<const TlsContext>&& context) noexcept override;
    [[nodiscard]] std::optional<std::chrono::nanoseconds> stalled_since() const noexcept override {
        return ends_.empty() ? std::nullopt : std::optional(moved_at_);
    }
    void leave(std::chrono::nanoseconds now) noexcept override;

private:
    enum class State : std::uint8_t { pausing, resolving, connecting, opening, connected };

    void resolve(std::chrono::nanoseconds now) noexcept;
    void try_next_candidate(std::chrono::nanoseconds now) noexcept;
    void check_connecting(std::chrono::nanoseconds now) noexcept;
    void begin_opening(std::chrono::nanoseconds now) noexcept;
    void check_opening(std::chrono::nanoseconds now) noexcept;
    void check_connected(std::chrono::nanoseconds now) noexcept;
    [[nodiscard]] bool expect_end() noexcept;
    [[nodiscard]] bool send_some(MessageView message, std::chrono::nanoseconds now) noexcept;
    void count_acknowledged() noexcept;
    void log_stall(std::chrono::nanoseconds now) noexcept;
    void end_connection() noexcept;
    void lose(std::chrono::nanoseconds now) noexcept;
    void log_short_connections(std::chrono::nanoseconds now) noexcept;
    void pause() noexcept;
    [[nodiscard]] std::chrono::nanoseconds longest_pause() const noexcept;

    CollectorEvents& events_;
    std::optional<SocketAddress> source_;
    Resolver resolver_;
    State state_ = State::pausing;
    std::vector<SocketAddress> candidates_;  ///< not tried yet, last one first
    std::string last_fault_;
    FileDescriptor socket_;
    std::unique_ptr<OctetStream> stream_;  ///< after the socket that it uses
    std::size_t sent_octets_{};            ///< of the message that is partly sent
    static constexpr std::uint64_t kNotSent = ~std::uint64_t{0};
    /// The connection's octet count behind each message that is not wholly acknowledged; kNotSent:
    /// behind the one that is partly sent.
    std::deque<std::uint64_t> ends_;
    std::uint64_t acknowledged_at_start_{};  ///< the kernel counts a SYN, too
    std::uint64_t acknowledged_{};           ///< octets, as last read
    std::chrono::nanoseconds moved_at_{};    ///< nothing was under way, or more was acknowledged
    bool stall_is_logged_{};
    std::chrono::nanoseconds held_off_until_{};  ///< after a stall
    std::size_t delivered_{};  ///< messages not reported by collect_outcomes() yet
    std::uint64_t session_{};
    std::chrono::nanoseconds since_{};     ///< start of this attempt, or of this connection
    std::chrono::nanoseconds tried_at_{};  ///< start of the last try, all its addresses together
    std::chrono::nanoseconds retry_at_{};  ///< end of the pause
    bool has_sent_{};                      ///< a whole message, in this connection
    unsigned short_connections_{};         ///< in a row, each try successful
    Patience patience_ = Patience::usual;
    std::chrono::nanoseconds next_pause_{kFirstPause};
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace tributary
