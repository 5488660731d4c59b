// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/status_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

namespace tributary {
namespace {

/// Rounded; at most the largest 64-bit number.
std::uint64_t per_second(std::uint64_t before, std::uint64_t now, std::chrono::nanoseconds time) {
    __extension__ using Wide = unsigned __int128;
    constexpr Wide kMost = std::numeric_limits<std::uint64_t>::max();
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (time.count() <= 0) {
        return 0;
    }
    const auto divisor = static_cast<std::uint64_t>(time.count());
    const Wide rate = (Wide{now - std::min(before, now)} * kSecond + divisor / 2) / divisor;
    return static_cast<std::uint64_t>(std::min(rate, kMost));
}

/// The data on disk: records in the spool of mode failover, octets in collectors' spools. Empty:
/// none.
std::string spool_text(const Ledger& ledger) {
    std::string text;
    if (ledger.spool && ledger.spool->waiting() > 0) {
        text = fmt::format(", {} records in the spool", ledger.spool->waiting());
    }
    std::uint64_t octets = 0;
    for (const CollectorLedger& collector : ledger.collectors) {
        const auto in_spool = collector.counts.find("spool_octets");
        octets += in_spool == collector.counts.end() ? 0 : in_spool->second;
    }
    constexpr std::uint64_t kKiB = 1024;
    if (octets > 0) {
        text += fmt::format(", {} KiB in collectors' spools", (octets + kKiB - 1) / kKiB);
    }
    return text;
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
    std::uint64_t lost_by_nics = 0;
    for (const PortLedger& port : now.ports) {
        lost_by_nics += port.missed.value_or(0) + port.no_buffer;
    }
    return fmt::format(
        "{} packets/s, {} flows active, {} records/s exported, {} of {} collectors reached{}; "
        "lost so far: {} records, {} packets by NICs",
        per_second(then.received, total.received, interval), total.active().records,
        per_second(then.exported.records, total.exported.records, interval), connected,
        std::ssize(now.collectors) - removed, spool_text(now), total.lost_sum().records,
        part_text(lost_by_nics, !now.all_ports().missed));
}

}  // namespace tributary
