// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "flowcache/record/counter.hpp"

// A ledger has a table with one row per counter. The sum, the JSON and the metrics use only this
// row.

namespace tributary {

/// A counter as Prometheus has it.
struct MetricWords {
    const char* name;  ///< nullptr: it is no metric
    const char* help;
    bool is_gauge = false;
    std::uint64_t RecordTally::*part = nullptr;  ///< which part of a RecordTally the metric is
};

/// The sections of a queue's JSON. A RecordTally is in all of them.
enum class LedgerSection : std::uint8_t { packets, octets, flows };

/// How a counter is shown.
struct CounterWords {
    const char* key = nullptr;          ///< in the JSON
    const char* records_key = nullptr;  ///< of a RecordTally's records; nullptr: `key`
    LedgerSection section = LedgerSection::packets;
    std::array<MetricWords, 3> metrics{};  ///< a RecordTally has one per part, others have one
    const char* label = nullptr;           ///< of the metrics of counts by name
    std::uint8_t metric_group = 0;         ///< metrics are sorted by it, then as the rows are
};

inline constexpr std::uint8_t kMetricGroups = 8;

/// What comes from a row.
enum class RowUse : std::uint8_t { all, sum, metrics, none };

/// One row of a ledger.
///
/// @tparam Read  pointer to a member, or what returns a number that follows from several members
template <class Read, RowUse Use>
struct CounterRow {
    static constexpr bool kIsMember = std::is_member_object_pointer_v<Read>;
    static constexpr bool kIsSummed = kIsMember && (Use == RowUse::all || Use == RowUse::sum);
    static constexpr bool kIsInJson = Use == RowUse::all;
    static constexpr bool kIsMetric = Use == RowUse::all || Use == RowUse::metrics;

    Read read;
    CounterWords words;
};

/// A member that is summed and shown, or a number that follows from several members and is shown.
template <class Read>
constexpr CounterRow<Read, RowUse::all> counter(Read read, const CounterWords& words) {
    return {read, words};
}
/// A number that follows from members, and that the metrics alone have.
template <class Read>
constexpr CounterRow<Read, RowUse::metrics> metric_only(Read read, const CounterWords& words) {
    return {read, words};
}
/// A member that is summed; another row shows what follows from it.
template <class Read>
constexpr CounterRow<Read, RowUse::sum> sum_only(Read read) {
    return {read, {}};
}
/// A member that is no counter.
template <class Read>
constexpr CounterRow<Read, RowUse::none> no_counter(Read read) {
    return {read, {}};
}

/// Calls `visit` with each row, in their order.
template <class... Rows, class Visit>
constexpr void for_each_row(const std::tuple<Rows...>& rows, const Visit& visit) {
    std::apply([&visit](const Rows&... row) { (visit(row), ...); }, rows);
}

/// Calls `visit` with the words and the value of each row that the JSON has, in their order.
template <class... Rows, class Owner, class Visit>
void for_each_in_json(const std::tuple<Rows...>& rows, const Owner& ledger, const Visit& visit) {
    for_each_row(rows, [&](const auto& row) {
        if constexpr (std::remove_cvref_t<decltype(row)>::kIsInJson) {
            visit(row.words, std::invoke(row.read, ledger));
        }
    });
}

/// Calls `visit` with the words and the value of each metric, by group and then in their order.
template <class... Rows, class Owner, class Visit>
void for_each_metric(const std::tuple<Rows...>& rows, const Owner& ledger, const Visit& visit) {
    for (std::uint8_t group = 0; group < kMetricGroups; ++group) {
        for_each_row(rows, [&](const auto& row) {
            if constexpr (std::remove_cvref_t<decltype(row)>::kIsMetric) {
                if (row.words.metric_group == group && row.words.metrics[0].name != nullptr) {
                    visit(row.words, std::invoke(row.read, ledger));
                }
            }
        });
    }
}

/// Whether a table has one row for each member of `Owner`. All members are of whole words, so that
/// their sizes add up to its size.
template <class Owner, class... Rows>
consteval bool has_row_for_each_member(const std::tuple<Rows...>& rows) {
    std::size_t octets = 0;
    std::size_t equal_pairs = 0;
    for_each_row(rows, [&](const auto& row) {
        if constexpr (std::remove_cvref_t<decltype(row)>::kIsMember) {
            octets += sizeof(std::invoke(row.read, std::declval<const Owner&>()));
            for_each_row(rows, [&](const auto& other) {
                if constexpr (std::same_as<decltype(other.read), decltype(row.read)>) {
                    equal_pairs += other.read == row.read ? 1U : 0U;
                }
            });
            --equal_pairs;  // with itself
        }
    });
    return octets == sizeof(Owner) && equal_pairs == 0;
}

}  // namespace tributary
