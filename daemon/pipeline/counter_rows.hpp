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

    /// The octets of the member of `Owner` that it reads; 0 where it reads none.
    template <class Owner>
    static consteval std::size_t octets_in() {
        if constexpr (kIsMember) {
            return sizeof(std::invoke(std::declval<Read>(), std::declval<const Owner&>()));
        } else {
            return 0;
        }
    }

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

/// Calls `visit` with the words and the value of one row, if it is a metric of this group.
template <class Row, class Owner, class Visit>
void visit_metric(const Row& row, std::uint8_t group, const Owner& ledger, const Visit& visit) {
    if constexpr (Row::kIsMetric) {
        if (row.words.metric_group == group && row.words.metrics[0].name != nullptr) {
            visit(row.words, std::invoke(row.read, ledger));
        }
    }
}

/// Calls `visit` with the words and the value of each metric, by group and then in their order.
template <class... Rows, class Owner, class Visit>
void for_each_metric(const std::tuple<Rows...>& rows, const Owner& ledger, const Visit& visit) {
    for (std::uint8_t group = 0; group < kMetricGroups; ++group) {
        for_each_row(rows, [&](const auto& row) { visit_metric(row, group, ledger, visit); });
    }
}

/// Whether two rows read the same member.
template <class Row, class Other>
constexpr bool read_the_same(const Row& row, const Other& other) {
    if constexpr (Row::kIsMember && std::same_as<decltype(row.read), decltype(other.read)>) {
        return row.read == other.read;
    } else {
        return false;
    }
}

/// Whether a table has one row for each member of `Owner`. All members are of whole words, so that
/// their sizes add up to its size.
template <class Owner, class... Rows>
consteval bool has_row_for_each_member(const std::tuple<Rows...>& rows) {
    std::size_t octets = 0;
    std::size_t members = 0;
    std::size_t equal_pairs = 0;  // each member with itself, too
    for_each_row(rows, [&](const auto& row) {
        using Row = std::remove_cvref_t<decltype(row)>;
        octets += Row::template octets_in<Owner>();
        members += Row::kIsMember ? 1U : 0U;
        for_each_row(
            rows, [&](const auto& other) { equal_pairs += read_the_same(row, other) ? 1U : 0U; });
    });
    return octets == sizeof(Owner) && equal_pairs == members;
}

}  // namespace tributary
