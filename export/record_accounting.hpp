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

class SpoolQueue;

/// Where a collector is in the options, and where its account is in the counters.
struct CollectorPlace {
    std::size_t option{};
    std::size_t account{};
    SpoolQueue* group_spool = nullptr;  ///< where records lie, too; nullptr: nowhere
};

/// In place of a collector's account: that of the group's spool.
inline constexpr std::size_t kGroupSpool = std::numeric_limits<std::size_t>::max();

/// Which collectors have which record, so that each is counted once however many it goes to: it is
/// exported as soon as one of them has it, and lost when none can have it any more. At the end it
/// may stay in a spool. Each collector, and the group's spool, has its own account beside that, and
/// records of a former process are in that account alone.
///
/// Records that go to one collector need no memory. Of others there is an octet per record, in
/// blocks that go when all in them is settled: what an absent collector holds for long costs the
/// blocks that its records are in, however many others have come and gone since.
/// @thread  the export thread
class RecordAccounting {
public:
    /// @param counters  outlive the book
    /// @param copies    collectors that each record goes to
    RecordAccounting(ExportCounters& counters, std::size_t copies)
        : counters_(counters), copies_(copies), begun_(counters.queues.size()) {}

    /// Records that begin from now on go to so many collectors.
    void set_copies(std::size_t copies) noexcept;
    /// Begins a record. Each of its copies must then be told of once, in whatever order.
    ///
    /// @return  its number
    /// @errors  std::bad_alloc: it has not begun
    [[nodiscard]] std::uint64_t begin();
    /// The same for a record of this queue, of which settle_unread() can then know the rest.
    [[nodiscard]] std::uint64_t begin(std::size_t queue, const RecordTally& tally);
    void delivered(std::size_t collector, const RecordEntry& record) noexcept;
    void lost(std::size_t collector, const RecordEntry& record, ExportLoss cause) noexcept;
    /// All records of a message.
    ///
    /// @param inherited  those of a former process, which are in the collector's own account alone
    void lost(std::size_t collector, std::span<const RecordEntry> records,
              const RecordTally& inherited, ExportLoss cause) noexcept;
    /// A record of which begin() found no memory; the collectors' accounts are the caller's.
    void lost_unbegun(std::size_t queue, const RecordTally& record, ExportLoss cause) noexcept {
        begun_[queue] += record;  // settle_unread() finds it among the lost ones
        counters_.queues[queue].lose(cause, record);
    }
    /// Records whose entries cannot be read: their sum for each queue is known, and their numbers
    /// where there are states of them.
    void lost(std::size_t collector, const UnreadRecords& records, ExportLoss cause) noexcept;
    /// The same for records that stay in the collector's spool.
    void spooled(std::size_t collector, const UnreadRecords& records) noexcept;
    /// The end, when every copy was told of. Where a collector had some of the unread records and
    /// none had others, what these held is what no account has: lost if some of it was, else
    /// spooled.
    void settle_unread() noexcept;
    /// Whether there are states of records, or will be.
    [[nodiscard]] bool keeps_states() const noexcept { return copies_ > 1 || !blocks_.empty(); }
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
    /// Blocks of memory in use.
    [[nodiscard]] std::size_t blocks() const noexcept { return blocks_.size(); }

private:
    static constexpr std::uint64_t kBlockRecords = 4096;
    /// Copies under way, and what became of the others.
    using State = std::uint8_t;
    static constexpr State kExported = 0x80;
    static constexpr State kSpooled = 0x40;
    static constexpr State kUnderWay = 0x3F;
    static_assert(kMostCollectors <= kUnderWay);

    struct Block {
        std::array<State, kBlockRecords> states{};
        std::size_t unsettled = kBlockRecords;  ///< records, those that did not begin yet included
    };

    struct Change {
        State before;
        State after;
    };
    /// Takes one copy of a record off.
    ///
    /// @param add  kExported, kSpooled or nothing
    [[nodiscard]] Change settle_copy(std::uint64_t number, State add) noexcept;

    /// What records with a copy less have become.
    struct Last {
        bool are_all;               ///< none of them has another copy
        bool are_some;              ///< some have none
        bool lie_in_another_spool;  ///< of some the last other copy does
    };
    [[nodiscard]] Last settle_copies(const UnreadRecords& records, State add) noexcept;
    [[nodiscard]] RecordTally unaccounted(std::size_t queue) const noexcept;
    void count_if_spooled(State state, const RecordEntry& record) noexcept;
    [[nodiscard]] static bool is_own(const RecordEntry& record) noexcept {
        return record.queue != kNoQueue;
    }

    ExportCounters& counters_;
    std::size_t copies_;
    std::uint64_t next_ = 0;
    std::vector<RecordTally> begun_;                   ///< by queue, all records so far
    std::optional<ExportLoss> unread_loss_;            ///< there is one: settle_unread() has to do
    bool has_unread_spooled_{};                        ///< the same
    std::unordered_map<std::uint64_t, Block> blocks_;  ///< by number / kBlockRecords
};

}  // namespace tributary
