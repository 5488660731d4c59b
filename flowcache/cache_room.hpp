// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "flowcache/entry_index.hpp"
#include "flowcache/hot_entry.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/record/prefetch.hpp"
#include "flowcache/tcp/tcp_state.hpp"

namespace tributary {

/// Most flows of a small cache. A small cache can be searched whole for a single packet.
inline constexpr std::size_t kSmallCache = 4096;

/// Entries between records, which have no record, that stay in a full cache: in a small one none.
[[nodiscard]] inline std::size_t most_empty_entries(const FlowCacheOptions& options) noexcept {
    const std::size_t flows = options.max_flows;
    return flows <= kSmallCache ? 0 : flows / 32;
}

/// Entries of a cache. A small cache has as many as flows. A larger one has a thirty-second more,
/// so that due flows are found, a few entries per new flow, before the entries are used up. It has
/// most_empty_entries() more, so that entries between records do not use them up.
[[nodiscard]] inline std::size_t entries_for(const FlowCacheOptions& options) noexcept {
    const std::size_t flows = options.max_flows;
    return flows <= kSmallCache ? flows : flows + flows / 32 + most_empty_entries(options);
}

/// States in a cache's TcpLossPool: with TCP analysis one for each eight flows, and some for a
/// small cache. Each direction of a biflow may take one.
[[nodiscard]] inline std::size_t loss_states_for(const FlowCacheOptions& options) noexcept {
    constexpr std::size_t kLeast = 64;
    const std::size_t some = std::max<std::size_t>(options.max_flows / 8, kLeast);
    return options.tcp_analysis ? std::min<std::size_t>(some, TcpState::kNoLossState) : 0;
}

/// Which entries are between records: their flows go on, but have no record. One bit per entry, so
/// that such an entry is found wherever it lies: the bits of 20 million entries are 2.5 MB, read in
/// order.
class EmptyEntries {
public:
    using Word = std::uint64_t;

    [[nodiscard]] static std::size_t words_for(std::size_t entries) noexcept {
        return entries / kBits + 1;
    }

    /// @param words  words_for() the entries, all zeros
    explicit EmptyEntries(std::span<Word> words) noexcept : words_(words) {}

    /// @param entry  any; one that is in the map stays in it
    void insert(EntryIndex entry) noexcept {
        Word& word = words_[entry / kBits];
        count_ += (word & bit_of(entry)) == 0 ? 1 : 0;
        word |= bit_of(entry);
    }
    /// @param entry  any; one that is not in the map stays out of it
    void remove(EntryIndex entry) noexcept {
        Word& word = words_[entry / kBits];
        count_ -= (word & bit_of(entry)) != 0 ? 1 : 0;
        word &= ~bit_of(entry);
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// An entry between records. After its removal the next call returns the next one, and after
    /// the last the first again.
    ///
    /// @return  kNoEntry: there is none
    /// @cost    a word for each 64 entries up to the next one in the map, so at the most all words;
    ///          but that is one round, in which each entry in the map was returned
    [[nodiscard]] EntryIndex next() noexcept {
        if (count_ == 0) {
            return kNoEntry;
        }
        while (words_[at_] == 0) {
            at_ = at_ + 1 < words_.size() ? at_ + 1 : 0;
        }
        return static_cast<EntryIndex>(at_ * kBits +
                                       static_cast<std::size_t>(std::countr_zero(words_[at_])));
    }

private:
    static constexpr std::size_t kBits = 64;
    [[nodiscard]] static Word bit_of(EntryIndex entry) noexcept {
        return Word{1} << (entry % kBits);
    }

    std::span<Word> words_;
    std::size_t count_ = 0;
    std::size_t at_ = 0;  ///< the word where next() looks first
};

/// Chooses the flow that a full cache evicts, from a few running flows: one that has run for less
/// than an active timeout, if there is one; of those the one with the fewest packets; of equal ones
/// the one with the longest silence. In a flood of single packets that is a flow of the flood,
/// unless all of the few are long-lived. The few lie far apart, one in each eighth of the entries.
/// A cursor goes through:
///
///     entries  |  .        |  .        |  .        | ...        next_ = 2
///
/// Rejected: a few in a row. Flows that began together, as those from before a flood did, lie
/// together, and where the cursor meets only them it evicts one of them. The longest silent of all
/// flows would need a list that every packet reorders. It may also be a slow long-lived flow,
/// evicted before the flood's latest packets.
///
/// An entry between records is a long-lived flow, but has no record. While there are more than
/// most_empty_entries(), one of them is evicted first, and its history with it. So while a flood
/// lasts, long-lived flows are safe as long as the active timeout cuts no more of them than that
/// within one idle timeout, before their next packets: in a large cache a thirty-second of
/// `max_flows`, in a small one none.
class EvictionCursor {
public:
    /// @param most_empty_entries  most_empty_entries()
    explicit EvictionCursor(std::size_t most_empty_entries) noexcept
        : most_empty_entries_(most_empty_entries) {}

    /// @param entries  all are taken, and at least one of them is running
    /// @param update   counts the packets of an entry
    /// @param empty    the entries between records
    /// @cost           kCandidates hot entries, each next to the one of the call before, and states
    ///                 of compact flows; more only where entries do not run. An entry between
    ///                 records: EmptyEntries::next()
    template <class Entries, class Update>
    [[nodiscard]] EntryIndex choose(const Entries& entries, const Update& update,
                                    EmptyEntries& empty) noexcept {
        if (empty.count() > most_empty_entries_) {
            return empty.next();
        }
        const std::size_t part = (entries.used() + kCandidates - 1) / kCandidates;
        Candidate best;
        do {
            for (std::size_t n = 0; n < kCandidates; ++n) {
                const auto entry = static_cast<EntryIndex>(n * part + next_);
                best = better(best, candidate(entries, update, entry));
            }
            next_ = next_ + 1 < part ? next_ + 1 : 0;
        } while (best.entry == kNoEntry);
        return best.entry;
    }

private:
    static constexpr std::size_t kCandidates = 8;

    struct Candidate {
        EntryIndex entry = kNoEntry;
        bool was_cut{};
        std::uint64_t packets{};
        Timestamp end{};
    };
    /// @return  kNoEntry: there is none, or it does not run
    template <class Entries, class Update>
    [[nodiscard]] static Candidate candidate(const Entries& entries, const Update& update,
                                             EntryIndex entry) noexcept {
        if (entry >= entries.used()) {
            return {};
        }
        HotEntry& hot = entries.hot(entry);
        constexpr EntryIndex kAhead = 4;
        prefetch_to_read(&entries.hot(std::min(entry + kAhead, entries.used() - 1)));
        if (!hot.is_running()) {
            return {};
        }
        return {entry, hot.was_cut != 0, update.expanded_tally(hot).packets, hot.end};
    }
    [[nodiscard]] static Candidate better(const Candidate& a, const Candidate& b) noexcept {
        if (a.entry == kNoEntry || b.entry == kNoEntry) {
            return a.entry == kNoEntry ? b : a;
        }
        return std::tie(b.was_cut, b.packets, b.end) < std::tie(a.was_cut, a.packets, a.end) ? b
                                                                                             : a;
    }

    std::size_t most_empty_entries_;
    std::size_t next_ = 0;
};

}  // namespace tributary
