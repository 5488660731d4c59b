// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "export/collector_events.hpp"
#include "export/export_error.hpp"
#include "export/message.hpp"
#include "export/options.hpp"

namespace tributary {

enum class SendStatus : std::uint8_t {
    sent,         ///< the kernel has all of it
    would_block,  ///< not now: offer the same message again later
    refused,      ///< the message *before* this one came back as refused; this one is not sent yet,
                  ///< offer it again
    lost,         ///< this message can never be sent
};

/// The way to one collector. It tells its troubles to CollectorEvents and never blocks.
/// @thread  the export thread; `now` is uptime
class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// Brings name resolution and connection forward, as far as that goes without waiting.
    virtual void advance(std::chrono::nanoseconds now) noexcept = 0;
    /// Number of the transport session that is open, from 1; 0: none is. When it changes, the
    /// collector knows no template, sequence numbers begin at 0, and a message that would have
    /// blocked is offered again whole.
    [[nodiscard]] virtual std::uint64_t session() const noexcept = 0;
    /// @param message  after would_block the same one, at the same place, unless session() has
    /// changed
    [[nodiscard]] virtual SendStatus send(MessageView message,
                                          std::chrono::nanoseconds now) noexcept = 0;
    /// Whether the last message came back as refused; says so once.
    [[nodiscard]] virtual bool last_was_refused(std::chrono::nanoseconds now) noexcept = 0;
    /// Nothing can be sent any more; the event has told why.
    [[nodiscard]] virtual bool failed() const noexcept = 0;
};

/// Octets that no message to this collector may exceed.
[[nodiscard]] std::size_t message_limit(const CollectorOptions& collector) noexcept;

/// @param events  outlives the transport
/// @errors  ExportError: the file cannot be created, or source_address is not a local address
[[nodiscard]] std::unique_ptr<Transport> make_transport(const CollectorOptions& collector,
                                                        CollectorEvents& events);

}  // namespace tributary
