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

}  // namespace

bool CollectorPatience::is_over(const Ledger& ledger, Clock::time_point now) noexcept {
    const QueueLedger total = ledger.total();
    const std::uint64_t ended =
        std::accumulate(total.ended.begin(), total.ended.end(), std::uint64_t{0});
    const std::uint64_t gone = total.exported.records + total.lost_sum().records;
    const std::uint64_t failures = failures_of(ledger);
    const bool is_connected =
        failures == failures_ &&
        std::ranges::any_of(ledger.collectors, [](const CollectorLedger& collector) {
            return count_of(collector, "connected") != 0;
        });
    if (ended <= gone || is_connected || total.exported.records != exported_) {
        since_ = now;
        exported_ = total.exported.records;
        failures_ = failures;
        return false;
    }
    return now - since_ >= patience_;
}

}  // namespace tributary
