// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "flowcache/record/counter.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// In place of a queue: a former process metered the record. It is in no queue's account.
inline constexpr std::size_t kNoQueue = std::numeric_limits<std::size_t>::max();

/// One flow record on its way, as RecordAccounting identifies it.
struct RecordEntry {
    std::uint64_t number{};  ///< from RecordAccounting
    std::size_t queue{};     ///< that it came from, or kNoQueue
    std::uint64_t packets{};
    std::uint64_t octets{};

    [[nodiscard]] RecordTally tally() const noexcept { return {1, packets, octets}; }
};

/// Where a message lies in a Spool.
struct SpoolPlace {
    std::uint64_t file{};  ///< its number
    std::uint64_t at{};    ///< octets from its beginning
    bool has_more{};       ///< the frame there also has records that are not in this message
};

/// Flow records of one layout that are on their way together.
struct RecordBatch {
    std::size_t layout{};              ///< of the records: its index in MeteringProcess
    std::vector<RecordEntry> entries;  ///< of each record, until its outcome is counted
    /// The records in the cache's format, back to back; kept where another collector may have to
    /// take them over.
    std::vector<std::byte> records;
    Timestamp latest_end{};  ///< of the records
    /// Uptime when the first record was taken; none: it was in a spool since.
    std::optional<std::chrono::nanoseconds> opened_at;
    std::optional<SpoolPlace> place;  ///< where it is on disk, too
};

/// Gets batches one by one. The handler may move entries and records out of a batch; the caller
/// discards the batch afterwards.
using RecordBatchHandler = std::function<void(RecordBatch&)>;

/// The content of a message.
enum class MessageKind : std::uint8_t {
    records,  ///< flow records
    report,   ///< about the exporter: options records. Made anew for each session
    ahead,    ///< needed to read what follows: templates. Made anew for each session
};

/// A message of one collector, from its first record until its outcome is known.
struct OutgoingMessage : RecordBatch {
    MessageKind kind{};
    std::vector<std::byte> octets;  ///< in the collector's format
    std::uint32_t data_records{};   ///< as the collector counts them
    /// Records of a former process: they are in this collector's own account alone.
    RecordTally inherited{};

    /// It is never sent a second time.
    [[nodiscard]] bool is_made_anew() const noexcept { return kind != MessageKind::records; }
    /// Data records of flows in it: a biflow that was split is two.
    [[nodiscard]] std::uint32_t flow_records() const noexcept {
        return is_made_anew() ? 0 : data_records;
    }
    /// Empty again, of the same layout; memory is kept for the next one.
    void clear() noexcept {
        entries.clear();
        records.clear();
        latest_end = {};
        opened_at.reset();
        place.reset();
        kind = {};
        octets.clear();
        data_records = 0;
        inherited = {};
    }
};

}  // namespace tributary
