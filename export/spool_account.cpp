// SPDX-License-Identifier: Apache-2.0
#include "export/spool_account.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace tributary {
namespace {

/// @return  false: there is not so much, and nothing has changed
bool subtract(RecordTally& from, const RecordTally& tally) noexcept {
    if (from.records < tally.records || from.packets < tally.packets ||
        from.octets < tally.octets) {
        return false;
    }
    from.records -= tally.records;
    from.packets -= tally.packets;
    from.octets -= tally.octets;
    return true;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size)
bool SpoolLedger::write(std::span<const RecordEntry> entries, bool keeps_numbers) noexcept {
    try {
        for (const RecordEntry& entry : entries) {
            queues_.resize(std::max(queues_.size(), entry.queue + 1));
            if (keeps_numbers) {
                add_number(entry.number);
            }
        }
    } catch (const std::bad_alloc&) {
        take_numbers(entries);
        return false;
    }
    for (const RecordEntry& entry : entries) {
        queues_[entry.queue] += entry.tally();
    }
    return true;
}

void SpoolLedger::add_number(std::uint64_t number) {
    if (!numbers_.empty() && numbers_.rbegin()->second == number) {
        ++numbers_.rbegin()->second;
    } else {
        numbers_.emplace(number, number + 1);
    }
}

bool SpoolLedger::take(const SpoolAccount& account) {
    if (account.entries.empty()) {
        return subtract(former_, account.tally);
    }
    for (std::size_t i = 0; i < account.entries.size(); ++i) {
        const RecordEntry& entry = account.entries[i];
        if (entry.queue < queues_.size() && subtract(queues_[entry.queue], entry.tally())) {
            continue;
        }
        while (i > 0) {
            --i;
            queues_[account.entries[i].queue] += account.entries[i].tally();
        }
        return false;
    }
    take_numbers(account.entries);
    return true;
}

/// Numbers that are not kept are passed.
// NOLINTNEXTLINE(readability-function-size)
void SpoolLedger::take_numbers(std::span<const RecordEntry> entries) {
    for (const RecordEntry& entry : entries) {
        auto range = numbers_.upper_bound(entry.number);
        if (range == numbers_.begin()) {
            continue;
        }
        --range;
        const std::uint64_t end = range->second;
        if (entry.number >= end) {
            continue;
        }
        if (range->first == entry.number) {  // as a rule: files are read from their beginning
            auto node = numbers_.extract(range);
            node.key() = entry.number + 1;
            if (node.key() < end) {
                numbers_.insert(std::move(node));
            }
            continue;
        }
        range->second = entry.number;
        if (entry.number + 1 < end) {
            numbers_.emplace(entry.number + 1, end);
        }
    }
}

bool SpoolLedger::empty() const noexcept {
    return former_ == RecordTally{} && std::ranges::all_of(queues_, [](const RecordTally& queue) {
               return queue == RecordTally{};
           });
}

void SpoolLedger::take_rest(std::vector<SpoolAccount>& rest) noexcept {
    if (former_ != RecordTally{}) {
        rest.push_back({.tally = std::exchange(former_, {}), .is_damaged = true});
    }
    SpoolAccount own{.is_damaged = true};
    for (const RecordTally& queue : queues_) {
        own.tally += queue;
    }
    if (own.tally != RecordTally{}) {
        own.unread = {.queues = std::move(queues_), .numbers = std::move(numbers_)};
        rest.push_back(std::move(own));
    }
    queues_.clear();
    numbers_.clear();
}

}  // namespace tributary
