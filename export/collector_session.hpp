// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "export/collector_events.hpp"
#include "export/export_counters.hpp"
#include "export/export_time.hpp"
#include "export/ipfix_encoder.hpp"
#include "export/options.hpp"
#include "export/transport.hpp"

namespace tributary {

/// How much of each queue one message holds.
class MessageTally {
public:
    struct Share {
        std::size_t queue{};
        RecordTally tally{};
    };
    void add(std::size_t queue, const RecordTally& tally);
    void clear() noexcept { shares_.clear(); }
    [[nodiscard]] bool empty() const noexcept { return shares_.empty(); }
    [[nodiscard]] const std::vector<Share>& shares() const noexcept { return shares_; }

private:
    std::vector<Share> shares_;
};

/// Everything that concerns one collector: encoder, transport, and the account of its records.
///
///     open -> complete -> sent -> exported        (UDP: `sent` waits for a refusal that may still
///     come)
///                |          +--> lost: refused
///                +--> lost: too large, write failed, collector away
///
/// There is one message in each state at most; a record is in exactly one of them, which is how the
/// account stays exact.
/// @thread  the export thread
class CollectorSession {
public:
    /// How long after a datagram its refusal is waited for, if no other datagram follows.
    static constexpr std::chrono::milliseconds kRefusalWait{200};

    /// @param counters  outlives the session
    /// @param index     of the collector, in the options and in the counters
    /// @errors  ExportError
    CollectorSession(const ExportOptions& options, const RecordLayout& layout,
                     ExportCounters& counters, std::size_t index, CollectorEventHandler handler);

    /// Does what time or the collector has made due: connection, templates, the message that waits.
    void advance(ExportTime now);
    /// Whether add() would take a record now.
    [[nodiscard]] bool ready() const noexcept;
    /// Puts the record into the open message, and sends that one first if it is full.
    ///
    /// @param record  of the layout given at construction, aligned to 8
    /// @return  false: the collector takes nothing now; the record is the caller's still
    [[nodiscard]] bool add(const std::byte* record, std::size_t queue, ExportTime now);
    /// Sends the open message, however full.
    ///
    /// @return  nothing is left here, and the account is settled
    [[nodiscard]] bool flush(ExportTime now);
    /// Counts as lost what is left here, and all that still comes; nothing is sent any more.
    void abandon(ExportTime now);
    /// Counts a record as lost that never came here, for the reason for which abandon() would.
    void lose(std::size_t queue, const RecordTally& tally) noexcept;

    /// Grows with every message handed over.
    [[nodiscard]] std::uint64_t messages_sent() const noexcept { return messages_sent_; }
    /// The line that tells of a final failure; empty: there was none.
    [[nodiscard]] const std::string& error() const noexcept { return events_.failure(); }

private:
    [[nodiscard]] bool in_session() noexcept;
    [[nodiscard]] bool deliver(ExportTime now);
    [[nodiscard]] bool send_templates(ExportTime now);
    [[nodiscard]] SendStatus transmit(MessageView message, ExportTime now);
    void conclude(SendStatus status, ExportTime now);
    void settle_sent(ExportTime now);
    void count_exported(MessageTally& tally) noexcept;
    void count_lost(MessageTally& tally, ExportLoss cause) noexcept;
    [[nodiscard]] ExportLoss cause_of_abandoning() const noexcept;

    RecordLayout layout_;
    ExportCounters& counters_;
    CollectorCounters& account_;
    CollectorEvents events_;
    std::unique_ptr<Transport> transport_;
    IpfixEncoder encoder_;
    bool refusals_come_late_;  ///< UDP
    bool abandoned_{};
    std::chrono::nanoseconds flush_interval_;
    std::chrono::nanoseconds template_refresh_;

    MessageTally open_;                     ///< of the open or complete message
    bool complete_{};                       ///< the open message takes no more records
    MessageView waiting_;                   ///< what the transport must be offered again, unchanged
    std::chrono::nanoseconds opened_at_{};  ///< uptime of its first record
    MessageTally sent_;                     ///< of the last datagram, which may still be refused
    std::chrono::nanoseconds sent_at_{};

    std::uint64_t session_{};      ///< the transport's, as last seen
    std::size_t next_template_{};  ///< template messages before this one are sent; before data
                                   ///< leave, all are
    bool refused_{};  ///< whoever listens there next knows no template: before the next data
    std::chrono::nanoseconds templates_at_{};  ///< uptime at which the first was last sent
    std::uint64_t messages_sent_{};
};

}  // namespace tributary
