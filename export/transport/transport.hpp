// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "export/collector_events.hpp"
#include "export/export_error.hpp"
#include "export/message.hpp"
#include "export/options.hpp"
#include "export/record_items.hpp"

namespace tributary {

class TlsContext;

enum class SendStatus : std::uint8_t {
    taken,        ///< all of them
    would_block,  ///< not now: offer the same messages again later
    lost,         ///< the first that was not taken can never be sent
};

/// The result for messages that were offered.
struct SendResult {
    std::size_t taken{};  ///< from the first on; collect_outcomes() reports their outcome
    SendStatus rest{};
};

/// The outcome of messages that were taken: of the oldest ones without a reported outcome.
struct SendOutcomes {
    std::size_t delivered{};  ///< as far as the transport can tell; see docs/export.md
    std::size_t refused{};    ///< the messages after the delivered ones
    /// The messages after those: Transport::settle_by_item() has the outcome of each of their
    /// items.
    std::size_t by_item{};
};

/// Gets the outcomes of a message's items, in their order.
using ItemOutcomeHandler = std::function<void(std::span<const ItemOutcome>)>;

/// The transport to one collector. It reports failures to CollectorEvents and never blocks.
/// @thread  the export thread; `now` is uptime
class Transport {
public:
    /// Messages that send() may be called with, at the most.
    static constexpr std::size_t kMostMessages = 32;

    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// Continues name resolution and connection, as far as that goes without waiting.
    virtual void advance(std::chrono::nanoseconds now) noexcept = 0;
    /// Number of the open transport session, from 1; 0: none is open. When it changes, the
    /// collector has no template, and messages without an outcome from collect_outcomes() are under
    /// way no more.
    [[nodiscard]] virtual std::uint64_t session() const noexcept = 0;
    /// Whether a session is open, and the collector is known to listen.
    [[nodiscard]] virtual bool is_proven() const noexcept { return session() != 0; }
    /// Whether sequence numbers begin at 0 in a new session.
    [[nodiscard]] virtual bool restarts_numbers() const noexcept { return true; }
    /// @param messages  after would_block the same ones at the same places, unless session() has
    ///                  changed; more may follow them
    [[nodiscard]] virtual SendResult send(std::span<const MessageView> messages,
                                          std::chrono::nanoseconds now) noexcept = 0;
    /// How long it may wait between two tries to connect.
    enum class Patience : std::uint8_t {
        usual,
        pressed,  ///< messages for the collector have filled half of its buffer
        last      ///< the end: it has drain_timeout
    };
    virtual void set_patience(Patience) noexcept {}
    /// Ends a pause between two tries.
    virtual void try_now() noexcept {}
    /// Uptime of the next try, while it waits for that.
    [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> next_try() const noexcept {
        return std::nullopt;
    }
    /// A collector that takes nothing for so long has stalled: its process hangs, or its disk does.
    static constexpr std::chrono::seconds kStall{30};
    /// Uptime since when no octet that has left has arrived. Nothing: all has arrived, more
    /// arrives, or this transport cannot measure it.
    [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> stalled_since() const noexcept {
        return std::nullopt;
    }
    /// Ends the session, whose collector has stalled. It connects again after kStallPause, or when
    /// the collector's buffer is half full.
    virtual void leave(std::chrono::nanoseconds /*now*/) noexcept {}
    static constexpr std::chrono::seconds kStallPause{60};
    /// The outcome of messages since the last call.
    [[nodiscard]] virtual SendOutcomes collect_outcomes(std::chrono::nanoseconds now) noexcept = 0;
    /// Calls `taker` for each message of the last SendOutcomes::by_item. Items that were not sent
    /// are among them only where this ends the session.
    virtual void settle_by_item(const ItemOutcomeHandler& /*taker*/,
                                std::chrono::nanoseconds /*now*/) {}
    /// Nothing is sent any more: what collect_outcomes() reports next is all that will ever be
    /// known. May wait up to a second.
    virtual void end_now(std::chrono::nanoseconds /*now*/) noexcept {}
    /// How long collect_outcomes() may wait for a refusal of sent messages, if nothing confirms
    /// them.
    [[nodiscard]] virtual std::chrono::nanoseconds refusal_wait() const noexcept { return {}; }
    /// Files: when this one and those after it end. Files that begin from now on have the other
    /// options too.
    virtual void set_rotation(FileRotation&&) noexcept {}
    /// TLS: as OctetStream::read_files_anew() and begin_with().
    [[nodiscard]] virtual std::shared_ptr<const TlsContext> read_files_anew() const;
    virtual void begin_with(std::shared_ptr<const TlsContext>&&) noexcept {}
    /// Nothing can be sent any more; an event has reported why.
    [[nodiscard]] virtual bool failed() const noexcept { return false; }
};

/// The transport to a collector that was given up: it sends nothing.
class NoTransport final : public Transport {
public:
    void advance(std::chrono::nanoseconds) noexcept override {}
    [[nodiscard]] std::uint64_t session() const noexcept override { return 0; }
    [[nodiscard]] SendResult send(std::span<const MessageView>,
                                  std::chrono::nanoseconds) noexcept override {
        return {.taken = 0, .rest = SendStatus::would_block};
    }
    [[nodiscard]] SendOutcomes collect_outcomes(std::chrono::nanoseconds) noexcept override {
        return {};
    }
};

/// Octets that no message to this collector may exceed.
[[nodiscard]] std::size_t message_limit(const CollectorOptions& collector) noexcept;

/// @param events  outlives the transport
/// @errors  ExportError: the file cannot be created, or source_address is not a local address
[[nodiscard]] std::unique_ptr<Transport> make_transport(const CollectorOptions& collector,
                                                        CollectorEvents& events);

}  // namespace tributary
