// SPDX-License-Identifier: Apache-2.0
#include "daemon/status_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

namespace tributary {
namespace {

std::uint64_t per_second(std::uint64_t before, std::uint64_t now, std::chrono::nanoseconds time) {
    const double seconds = std::chrono::duration<double>(time).count();
    const auto count = static_cast<double>(now - std::min(before, now));
    return seconds > 0 ? static_cast<std::uint64_t>(std::llround(count / seconds)) : 0;
}

}  // namespace

std::string status_line(const Ledger& before, const Ledger& now,
                        std::chrono::nanoseconds interval) {
    const QueueLedger then = before.total();
    const QueueLedger total = now.total();
    const auto connected =
        std::ranges::count_if(now.collectors, [](const CollectorLedger& collector) {
            return !collector.is_removed && collector.counts.at("connected") != 0;
        });
    const auto removed = std::ranges::count_if(
        now.collectors, [](const CollectorLedger& collector) { return collector.is_removed; });
    const PortLedger nic = now.all_ports();
    return fmt::format(
        "{} packets/s, {} flows active, {} records/s exported, {} of {} collectors reached; "
        "lost so far: {} records, {} packets by NICs",
        per_second(then.received, total.received, interval), total.active().records,
        per_second(then.exported.records, total.exported.records, interval), connected,
        std::ssize(now.collectors) - removed, total.lost_sum().records,
        number_text(sum_of_known(nic.missed, nic.no_buffer)));
}

}  // namespace tributary
