// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "export/export_counters.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "export/spool_account.hpp"

namespace tributary {

/// In place of a collector's account: the account of the group's spool.
inline constexpr std::size_t kGroupSpool = std::numeric_limits<std::size_t>::max();

/// Which collectors have which record, so that each record is counted once, whatever number of
/// collectors it goes to: it is exported as soon as one of them has it, and lost when none can have
/// it any more. At the end it may stay in a spool. Each collector, and the group's spool, has its
/// own account beside that. Records of a former process are in that account alone.
///
/// Where no record can have more than one copy, records need no memory. Otherwise each takes an
/// octet, in blocks. A block is freed when all records in it are settled. So an absent collector
/// costs the blocks of the records that it has not got, however many others have come and gone
/// since.
/// @thread  the export thread
class RecordAccounting {
public:
    /// @param counters     outlive the accounting
    /// @param most_copies  collectors that a record goes to at the most
    RecordAccounting(ExportCounters& counters, std::size_t most_copies)
        : counters_(counters), most_copies_(most_copies), begun_(counters.queues.size()) {}

    /// Records that begin from now on go to so many collectors at the most.
    void set_copies(std::size_t most_copies) noexcept;
    /// Begins a record with as many copies as there may be. The outcome of each of them must then
    /// be reported once, in any order.
    ///
    /// @return  its number
    /// @errors  std::bad_alloc: it has not begun
    [[nodiscard]] std::uint64_t begin() { return begin(most_copies_); }
    /// The same for a record of this queue, so that settle_unread() can compute the rest.
    ///
    /// @param copies  1 .. the most that there may be
    /// @cost  few instructions where a record has one copy: inlined for that
    [[nodiscard]] std::uint64_t begin(std::size_t queue, const RecordTally& tally,
                                      std::size_t copies) {
        const std::uint64_t number = begin(copies);
        begun_[queue] += tally;
        return number;
    }
    void delivered(std::size_t collector, const RecordEntry& record) noexcept;
    void lost(std::size_t collector, const RecordEntry& record, ExportLoss cause) noexcept;
    /// All records of a message.
    ///
    /// @param inherited  those of a former process, which are in the collector's own account alone
    void lost(std::size_t collector, std::span<const RecordEntry> records,
              const RecordTally& inherited, ExportLoss cause) noexcept;
    /// A record that goes to no collector: begin() found no memory for it, or no collector takes
    /// it.
    void lost_unbegun(std::size_t queue, const RecordTally& record, ExportLoss cause) noexcept {
        begun_[queue] += record;  // settle_unread() finds it among the lost ones
        counters_.queues[queue].lose(cause, record);
    }
    /// The copy of such a record that a collector should have had.
    void lost_unbegun_copy(std::size_t collector, std::size_t queue, const RecordTally& record,
                           ExportLoss cause) noexcept {
        lose_copy(collector, queue, record, cause);
    }
    /// Records whose entries cannot be read: their sum for each queue is known, and their numbers
    /// where they have states.
    void lost(std::size_t collector, const UnreadRecords& records, ExportLoss cause) noexcept;
    /// The same for records that stay in the collector's spool.
    void spooled(std::size_t collector, const UnreadRecords& records) noexcept;
    /// The end, when the outcome of every copy was reported. If a collector had some of the unread
    /// records and none had others, these others are in no account yet. They are counted as lost if
    /// some of them was lost, else as spooled.
    void settle_unread() noexcept;
    /// Whether records have states, or will have.
    [[nodiscard]] bool keeps_states() const noexcept {
        return most_copies_ > 1 || !blocks_.empty();
    }
    /// The collector's copy stays in its spool when this process ends.
    void spooled(std::size_t collector, const RecordEntry& record) noexcept;
    /// The collector's own account, or that of the group's spool.
    [[nodiscard]] CollectorCounters& account(std::size_t collector) const noexcept {
        return collector == kGroupSpool ? counters_.group_spool : counters_.collectors[collector];
    }
    /// A record went to the group's spool.
    void stored(const RecordEntry& record) noexcept {
        counters_.group_spool_stored.add(record.tally());
    }
    /// A record left the group's spool for a collector.
    void handed_over(const RecordEntry& record) noexcept {
        counters_.group_spool.records.add(record.tally());
    }
    /// The table of a queue's records: its index. Nothing: it is not known, as of records of a
    /// former process.
    [[nodiscard]] std::optional<std::size_t> table_of(std::size_t queue) const noexcept {
        return counters_.queue_tables.empty() || queue == kNoQueue
                   ? std::nullopt
                   : std::optional(counters_.queue_tables[queue]);
    }
    /// Blocks of memory in use.
    [[nodiscard]] std::size_t blocks() const noexcept { return blocks_.size(); }

private:
    static constexpr std::uint64_t kBlockRecords = 4096;
    /// Number of copies under way, and the outcomes of the others.
    using State = std::uint8_t;
    static constexpr State kExported = 0x80;
    static constexpr State kSpooled = 0x40;
    static constexpr State kUnderWay = 0x3F;
    static_assert(kMostCollectors <= kUnderWay);

    struct Block {
        std::array<State, kBlockRecords> states{};
        std::size_t unsettled = kBlockRecords;  ///< records, also those that were not begun yet
    };

    struct Change {
        State before;
        State after;
    };
    /// Takes one copy of a record off.
    ///
    /// @param add  kExported, kSpooled or nothing
    [[nodiscard]] Change settle_copy(std::uint64_t number, State add) noexcept;

    /// The state of records with one copy less.
    struct Last {
        bool are_all;               ///< no record has another copy
        bool are_some;              ///< some records have no other copy
        bool lie_in_another_spool;  ///< the last other copy of some records is in a spool
    };
    [[nodiscard]] Last settle_copies(const UnreadRecords& records, State add) noexcept;
    [[nodiscard]] std::uint64_t begin(std::size_t copies) {
        if (most_copies_ > 1) {
            note_copies(copies);
        }
        return next_++;
    }
    void note_copies(std::size_t copies);
    void lose_copy(std::size_t collector, std::size_t queue, const RecordTally& tally,
                   ExportLoss cause) noexcept;
    void spool_copy(std::size_t collector, std::size_t queue, const RecordTally& tally) noexcept;
    /// The part of a collector's account that is of the table of a queue; nullptr: it has none.
    [[nodiscard]] CollectorTableCounters* table_part(CollectorCounters& account,
                                                     std::size_t queue) const noexcept {
        return !counters_.is_split || account.tables.empty() || queue == kNoQueue
                   ? nullptr
                   : &account.tables[counters_.queue_tables[queue]];
    }
    [[nodiscard]] RecordTally unaccounted(std::size_t queue) const noexcept;
    void count_if_spooled(State state, const RecordEntry& record) noexcept;
    [[nodiscard]] static bool is_own(const RecordEntry& record) noexcept {
        return record.queue != kNoQueue;
    }

    ExportCounters& counters_;
    std::size_t most_copies_;
    std::uint64_t next_ = 0;
    std::vector<RecordTally> begun_;                   ///< by queue, all records so far
    std::optional<ExportLoss> unread_loss_;            ///< if set, settle_unread() has to count
    bool has_unread_spooled_{};                        ///< likewise
    std::unordered_map<std::uint64_t, Block> blocks_;  ///< by number / kBlockRecords
};

}  // namespace tributary
