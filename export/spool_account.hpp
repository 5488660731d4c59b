// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "export/number_ranges.hpp"
#include "export/outgoing_message.hpp"
#include "flowcache/record/counter.hpp"

// Terms for the states of records in a spool, and of its frames and files:
//
//     word      of             meaning                                        loss
//     done      frame          delivered, or counted as lost: needed no more  none (any more)
//     taken     frame          in memory to be sent, on the disk until done   that of the message
//     damaged   frame, octets  it cannot be read as it was written            spool_damaged
//     unread    records        their sum is known, their entries are not:     as the others of
//                              damaged, or no memory to read                  the file
//     unusable  file           others or unknown                              see there
//     unusable  frame          its layout is none of today's                  spool_unusable
//     others    file           it was written for other content than today's  spool_unusable
//     unknown   file           the same, but its header is damaged            spool_damaged
namespace tributary {

/// Records of this process whose entries cannot be read any more.
struct UnreadRecords {
    std::vector<RecordTally> queues{};                 ///< by queue
    std::map<std::uint64_t, std::uint64_t> numbers{};  ///< first to end, where numbers are kept
    bool lacks_numbers{};                              ///< there was no memory for all of them

    [[nodiscard]] bool empty() const noexcept { return queues.empty(); }
};

/// The account of records in a spool: of a frame, or of missing records.
struct SpoolAccount {
    RecordTally tally{};                 ///< of all of them
    std::vector<RecordEntry> entries{};  ///< of this process's records
    UnreadRecords unread{};              ///< of those, without entries
    /// The numbers of all of them. Empty: they have none, or these are not known.
    std::vector<NumberRange> ranges{};
    bool is_damaged{};   ///< they cannot be sent
    bool is_unusable{};  ///< nor these: they were written for other content
    bool is_estimate{};  ///< the tally was made from octets

    /// Records of a former process: their sum alone means something here.
    [[nodiscard]] RecordTally inherited() const noexcept {
        return entries.empty() && unread.empty() ? tally : RecordTally{};
    }
};

/// The records in a spool's file that were not taken. Records that cannot be found in the file
/// again are missing, exactly. It takes a tally for each queue, whatever number of frames the file
/// has.
class SpoolLedger {
public:
    /// Records of this process were written.
    ///
    /// @param ranges         their numbers, where their format has some
    /// @param keeps_numbers  RecordAccounting has states of them
    /// @return  false: there is no memory for them, and nothing has changed
    [[nodiscard]] bool write(std::span<const RecordEntry> entries,
                             std::span<const NumberRange> ranges, bool keeps_numbers) noexcept;
    /// Records of a former process were found.
    void inherit(const RecordTally& tally) noexcept { former_ += tally; }
    /// Records of a former process that were not taken.
    [[nodiscard]] const RecordTally& inherited() const noexcept { return former_; }
    /// Reserves the memory that take() needs.
    ///
    /// @errors  std::bad_alloc: nothing has changed
    void make_room(const SpoolAccount& account) { ranges_.make_room(account.ranges.size()); }
    /// The records of a frame were found again. Call make_room() before.
    ///
    /// @return  false: not all of them are here, and nothing has changed
    [[nodiscard]] bool take(const SpoolAccount& account) noexcept;
    [[nodiscard]] bool empty() const noexcept;
    [[nodiscard]] bool keeps_numbers() const noexcept { return !numbers_.empty(); }
    /// Removes all that is left, as damaged. It takes no memory.
    ///
    /// @return  of a former process, and of this one; without records where nothing is left
    static constexpr std::size_t kMostRest = 2;
    [[nodiscard]] std::array<SpoolAccount, kMostRest> take_rest() noexcept;

private:
    [[nodiscard]] RecordTally& tally_of(std::size_t queue) noexcept {
        return queue == kNoQueue ? former_ : queues_[queue];
    }
    void make_places(std::span<const RecordEntry> entries, std::span<const NumberRange> ranges,
                     bool keeps_numbers);
    void add_number(std::uint64_t number);
    void take_number(std::uint64_t number) noexcept;
    void take_numbers(std::span<const RecordEntry> entries,
                      std::span<const NumberRange> ranges) noexcept;

    RecordTally former_;
    std::vector<RecordTally> queues_;
    std::map<std::uint64_t, std::uint64_t> numbers_;  ///< first to end
    NumberRanges ranges_;  ///< the formats' numbers of this process's records
    bool lacks_numbers_{};
};

}  // namespace tributary
