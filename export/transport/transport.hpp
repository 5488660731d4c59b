// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "export/collector_events.hpp"
#include "export/export_error.hpp"
#include "export/message.hpp"
#include "export/options.hpp"

namespace tributary {

class TlsContext;

enum class SendStatus : std::uint8_t {
    taken,        ///< all of them
    would_block,  ///< not now: offer the same messages again later
    lost,         ///< the first that was not taken can never be sent
};

/// What became of messages that were offered.
struct SendResult {
    std::size_t taken{};  ///< from the first on; collect_outcomes() tells their outcome
    SendStatus rest{};
};

/// What became of messages that were taken: of the oldest ones whose outcome was not told before.
struct SendOutcomes {
    std::size_t delivered{};  ///< as far as the transport can know; see docs/export.md
    std::size_t refused{};    ///< those after them came back
};

/// The way to one collector. It tells its troubles to CollectorEvents and never blocks.
/// @thread  the export thread; `now` is uptime
class Transport {
public:
    /// Messages that send() is offered at the most.
    static constexpr std::size_t kMostMessages = 32;

    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// Brings name resolution and connection forward, as far as that goes without waiting.
    virtual void advance(std::chrono::nanoseconds now) noexcept = 0;
    /// Number of the transport session that is open, from 1; 0: none is. When it changes, the
    /// collector knows no template, and messages whose outcome collect_outcomes() has not told by
    /// then are under way no more.
    [[nodiscard]] virtual std::uint64_t session() const noexcept = 0;
    /// Whether a session is open, and more than the hope that somebody listens.
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
        pressed,  ///< what waits for the collector has filled half of its buffer
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
    /// Uptime since when nothing of what has left has arrived. Nothing: all has arrived, more
    /// arrives, or this transport cannot know.
    [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> stalled_since() const noexcept {
        return std::nullopt;
    }
    /// Ends the session, whose collector has stalled. It is tried again after kStallPause, or when
    /// its own records press.
    virtual void leave(std::chrono::nanoseconds /*now*/) noexcept {}
    static constexpr std::chrono::seconds kStallPause{60};
    /// What has become of messages since the last call.
    [[nodiscard]] virtual SendOutcomes collect_outcomes(std::chrono::nanoseconds now) noexcept = 0;
    /// How long collect_outcomes() may wait for bad news of what has been sent, where nothing
    /// confirms it.
    [[nodiscard]] virtual std::chrono::nanoseconds refusal_wait() const noexcept { return {}; }
    /// Files: when this one and those after it end. Those that begin from now on have the rest of
    /// it.
    virtual void set_rotation(FileRotation&&) noexcept {}
    /// TLS: as OctetStream::read_files_anew() and begin_with().
    [[nodiscard]] virtual std::shared_ptr<const TlsContext> read_files_anew() const;
    virtual void begin_with(std::shared_ptr<const TlsContext>&&) noexcept {}
    /// Nothing can be sent any more; the event has told why.
    [[nodiscard]] virtual bool failed() const noexcept { return false; }
};

/// The way to a collector that was given up: nothing goes that way any more.
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
