// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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
    bool is_shared{};      ///< messages before this one have records of the same frame
};

/// A message of one collector, from its closing until its outcome is known.
struct OutgoingMessage {
    std::vector<std::byte> octets;
    std::vector<RecordEntry> entries;  ///< its flow records, until their outcome is counted
    std::uint32_t data_records{};      ///< as sequence numbers count them
    bool is_made_anew{};               ///< templates and options: never sent a second time
    Timestamp latest_end{};            ///< of its records
    /// Uptime when its first record was taken; none: it was in a spool since.
    std::optional<std::chrono::nanoseconds> opened_at;
    std::optional<SpoolPlace> place;  ///< where it is on disk, too
    /// Records of a former process: they are in this collector's own account alone.
    RecordTally inherited{};
    /// The records in the cache's format, back to back; kept where another collector may have to
    /// take them over.
    std::vector<std::byte> records;

    /// Data records of flows in it: a biflow that was split is two.
    [[nodiscard]] std::uint32_t flow_records() const noexcept {
        return is_made_anew ? 0 : data_records;
    }
    /// Empty again; memory is kept for the next one.
    void clear() noexcept {
        octets.clear();
        entries.clear();
        data_records = 0;
        is_made_anew = false;
        latest_end = {};
        opened_at.reset();
        place.reset();
        inherited = {};
        records.clear();
    }
};

}  // namespace tributary
