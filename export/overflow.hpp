// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "export/collector_events.hpp"
#include "export/delivery_book.hpp"
#include "export/export_time.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "export/spool.hpp"

namespace tributary {

/// One collector's messages for which there is no room in memory: in its spool if it has one, with
/// the account of what the spool has to give up.
/// @thread  the export thread
class Overflow {
public:
    /// @param index        of the collector, in the options and in the counters
    /// @param fingerprint  of the templates that its messages need
    /// @errors  ExportError: the spool cannot be used
    Overflow(const ExportOptions& options, std::size_t index, std::uint64_t fingerprint,
             DeliveryBook& book, CollectorEvents& events);

    /// Whether there is a spool.
    [[nodiscard]] bool is_on() const noexcept { return spool_ != nullptr; }
    /// Whether a message waits in it, so that later ones have to go behind it.
    [[nodiscard]] bool holds_messages() const noexcept { return is_on() && spool_->has_untaken(); }
    /// Takes a message over, which is cleared. What the disk refuses is lost.
    void push(OutgoingMessage& message, ExportTime now);
    /// Writes a message that stays in memory; nothing may be in the spool that is newer. Without
    /// effect if it has a place already, or the disk refuses it.
    void copy(OutgoingMessage& message, ExportTime now);
    /// The oldest message, which is to be sent now; the spool has it until release().
    [[nodiscard]] std::optional<OutgoingMessage> take(ExportTime now);
    /// The message's fate is known.
    void release(OutgoingMessage& message) noexcept;
    /// The end: all that is in the spool stays there for the next process.
    ///
    /// @param in_memory  copies of some of it; those of which there is none in the spool are lost
    void keep_for_next_process(const std::vector<OutgoingMessage>& in_memory);

private:
    [[nodiscard]] bool write(OutgoingMessage& message, bool stays_in_memory, ExportTime now);
    void keep(const std::vector<RecordEntry>& records) noexcept;
    void lose(const std::vector<RecordEntry>& records, ExportLoss cause) noexcept;

    std::size_t index_;
    DeliveryBook& book_;
    CollectorEvents& events_;
    std::unique_ptr<Spool> spool_;
    bool told_used_ = false;
    std::uint64_t damaged_ = 0;  ///< as last told
};

}  // namespace tributary
