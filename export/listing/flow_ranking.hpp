// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "export/messages/flow_view.hpp"

namespace tributary {

/// Keeps the `limit` items of the highest rank, or all. Of equal ranks the earlier item is the
/// better one.
template <class Item>
class FlowRanking {
public:
    explicit FlowRanking(std::optional<std::size_t> limit)
        : limit_(limit.value_or(std::numeric_limits<std::size_t>::max())) {}

    /// Whether an item of this rank would be kept now.
    [[nodiscard]] bool admits(WideCount rank) const {
        return entries_.size() < limit_ || (limit_ > 0 && rank > entries_.front().rank);
    }
    void add(WideCount rank, Item item) {
        if (!admits(rank)) {
            return;
        }
        if (entries_.size() == limit_) {
            std::pop_heap(entries_.begin(), entries_.end(), is_better);
            entries_.pop_back();
        }
        entries_.push_back({rank, next_ordinal_++, std::move(item)});
        std::push_heap(entries_.begin(), entries_.end(), is_better);
    }
    /// Calls `visit` with every item, the best first, and then is empty.
    template <class Visit>
    void drain(Visit visit) {
        std::sort_heap(entries_.begin(), entries_.end(), is_better);
        for (const Entry& entry : entries_) {
            visit(entry.item);
        }
        entries_.clear();
    }

private:
    struct Entry {
        WideCount rank;
        std::uint64_t ordinal;
        Item item;
    };
    static bool is_better(const Entry& a, const Entry& b) {
        return a.rank != b.rank ? a.rank > b.rank : a.ordinal < b.ordinal;
    }

    std::size_t limit_;
    std::uint64_t next_ordinal_{};
    std::vector<Entry> entries_;  ///< a heap, the worst in front
};

}  // namespace tributary
