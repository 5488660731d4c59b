// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/entry_index.hpp"

namespace tributary {

/// Which entries are empty slices: of flows that go on, but have no record. A bit each, so that one
/// is found wherever it lies: of 20 million entries that is 2.5 MB, read in order.
class SliceMap {
public:
    using Word = std::uint64_t;

    [[nodiscard]] static std::size_t words_for(std::size_t entries) noexcept {
        return entries / kBits + 1;
    }

    /// @param words  words_for() the entries, all zeros
    explicit SliceMap(std::span<Word> words) noexcept : words_(words) {}

    /// @param entry  any; what is an empty slice stays one
    void insert(EntryIndex entry) noexcept {
        Word& word = words_[entry / kBits];
        count_ += (word & bit_of(entry)) == 0 ? 1 : 0;
        word |= bit_of(entry);
    }
    /// @param entry  any; what is no empty slice stays none
    void remove(EntryIndex entry) noexcept {
        Word& word = words_[entry / kBits];
        count_ -= (word & bit_of(entry)) != 0 ? 1 : 0;
        word &= ~bit_of(entry);
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// One of them; when that was removed, the next one, and behind the last the first again.
    ///
    /// @return  kNoEntry: there is none
    /// @cost    a word for each 64 entries up to the next slice, so at the most all words; but that
    ///          is one round, in which all slices had their turn
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

}  // namespace tributary
