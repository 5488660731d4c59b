// SPDX-License-Identifier: Apache-2.0
#include "export/spool_account.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace tributary {
namespace {

/// @return  false: `from` has less, and nothing has changed
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

bool SpoolLedger::write(std::span<const RecordEntry> entries, std::span<const NumberRange> ranges,
                        bool keeps_numbers) noexcept {
    try {
        make_places(entries, ranges, keeps_numbers);
    } catch (const std::bad_alloc&) {
        take_numbers(entries, ranges);
        return false;
    }
    for (const RecordEntry& entry : entries) {
        tally_of(entry.queue) += entry.tally();
    }
    return true;
}

/// @errors  std::bad_alloc: some numbers may be there
void SpoolLedger::make_places(std::span<const RecordEntry> entries,
                              std::span<const NumberRange> ranges, bool keeps_numbers) {
    for (const RecordEntry& entry : entries) {
        if (entry.queue == kNoQueue) {
            continue;
        }
        queues_.resize(std::max(queues_.size(), entry.queue + 1));
        if (keeps_numbers) {
            add_number(entry.number);
        }
    }
    for (const NumberRange& range : ranges) {
        ranges_.add(range);
    }
}

void SpoolLedger::add_number(std::uint64_t number) {
    if (!numbers_.empty() && numbers_.rbegin()->second == number) {
        ++numbers_.rbegin()->second;
    } else {
        numbers_.emplace(number, number + 1);
    }
}

bool SpoolLedger::take(const SpoolAccount& account) noexcept {
    if (account.entries.empty()) {
        return subtract(former_, account.tally);
    }
    for (std::size_t i = 0; i < account.entries.size(); ++i) {
        const RecordEntry& entry = account.entries[i];
        const bool has_tally = entry.queue == kNoQueue || entry.queue < queues_.size();
        if (has_tally && subtract(tally_of(entry.queue), entry.tally())) {
            continue;
        }
        while (i > 0) {
            --i;
            tally_of(account.entries[i].queue) += account.entries[i].tally();
        }
        return false;
    }
    take_numbers(account.entries, account.ranges);
    return true;
}

void SpoolLedger::take_numbers(std::span<const RecordEntry> entries,
                               std::span<const NumberRange> ranges) noexcept {
    for (const RecordEntry& entry : entries) {
        take_number(entry.number);
    }
    for (const NumberRange& range : ranges) {
        ranges_.take(range);
    }
}

/// A number that is not kept is ignored.
void SpoolLedger::take_number(std::uint64_t number) noexcept {
    auto range = numbers_.upper_bound(number);
    if (range == numbers_.begin() || (--range)->second <= number) {
        return;
    }
    const std::uint64_t end = range->second;
    if (range->first == number) {  // as a rule: files are read from their beginning
        auto node = numbers_.extract(range);
        node.key() = number + 1;
        if (node.key() < end) {
            numbers_.insert(std::move(node));
        }
        return;
    }
    range->second = number;
    if (number + 1 == end) {
        return;
    }
    try {
        numbers_.emplace(number + 1, end);
    } catch (const std::bad_alloc&) {
        lacks_numbers_ = true;
    }
}

bool SpoolLedger::empty() const noexcept {
    return former_ == RecordTally{} && std::ranges::all_of(queues_, [](const RecordTally& queue) {
               return queue == RecordTally{};
           });
}

std::array<SpoolAccount, SpoolLedger::kMostRest> SpoolLedger::take_rest() noexcept {
    SpoolAccount own{.is_damaged = true};
    for (const RecordTally& queue : queues_) {
        own.tally += queue;
    }
    if (own.tally != RecordTally{}) {
        own.unread = {.queues = std::move(queues_),
                      .numbers = std::move(numbers_),
                      .lacks_numbers = lacks_numbers_};
        own.ranges = ranges_.take_all();
    }
    static_cast<void>(ranges_.take_all());
    queues_.clear();
    numbers_.clear();
    lacks_numbers_ = false;
    return {SpoolAccount{.tally = std::exchange(former_, {}), .is_damaged = true}, std::move(own)};
}

}  // namespace tributary
