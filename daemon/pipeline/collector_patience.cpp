// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/collector_patience.hpp"

#include <algorithm>
#include <numeric>

namespace tributary {
namespace {

std::uint64_t count_of(const CollectorLedger& collector, const char* name) {
    const auto found = collector.counts.find(name);
    return found == collector.counts.end() ? 0 : found->second;
}

std::uint64_t failures_of(const Ledger& ledger) {
    std::uint64_t failures = 0;
    for (const CollectorLedger& collector : ledger.collectors) {
        failures += count_of(collector, "errors") + count_of(collector, "refused");
    }
    return failures;
}

/// Records of all tables.
struct Progress {
    std::uint64_t ended{};
    std::uint64_t exported{};
    std::uint64_t gone{};  ///< exported or lost

    /// @param ledger  of a queue or a table
    template <class RecordLedger>
    void add(const RecordLedger& ledger) {
        ended = std::accumulate(ledger.ended.begin(), ledger.ended.end(), ended);
        exported += ledger.exported.records;
        gone += ledger.exported.records + ledger.lost_sum().records;
    }
};

}  // namespace

bool CollectorPatience::is_over(const Ledger& ledger, Clock::time_point now) noexcept {
    Progress all;
    all.add(ledger.total());
    for (const TableLedger& table : ledger.tables) {
        all.add(table);
    }
    const std::uint64_t failures = failures_of(ledger);
    const bool is_connected =
        failures == failures_ &&
        std::ranges::any_of(ledger.collectors, [](const CollectorLedger& collector) {
            return count_of(collector, "connected") != 0;
        });
    if (all.ended <= all.gone || is_connected || all.exported != exported_) {
        since_ = now;
        exported_ = all.exported;
        failures_ = failures;
        return false;
    }
    return now - since_ >= patience_;
}

}  // namespace tributary
