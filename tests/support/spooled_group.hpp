// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/collector_group_harness.hpp"
#include "tests/support/temporary_directory.hpp"

// An export of mode failover with a spool for the group.
namespace tributary::test {

struct SpooledGroup : GroupExport {
    explicit SpooledGroup(const TemporaryDirectory& directory, std::size_t count = 3,
                          std::uint64_t max_octets = std::uint64_t{1} << 26U,
                          std::size_t buffer = 1U << 22U)
        : GroupExport(ExportMode::failover, count, buffer) {
        options.drain_timeout = milliseconds{1000};
        options.spool = {.directory = directory.path(), .max_octets = max_octets};
    }
    void all_go_away() {
        for (TcpCollector& collector : collectors) {
            collector.go_away();
        }
    }
    /// Begins while no collector listens, and works for a while.
    void start_with_none(milliseconds lasting = milliseconds{0}) {
        all_go_away();
        start();
        run(lasting);
    }
    /// Records first .. end - 1, by their source ports.
    void put(std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t number = first; number < end; ++number) {
            queue.put(record_of(number));
        }
    }
    /// The records of all collectors, in the order of their numbers.
    [[nodiscard]] std::vector<std::uint64_t> all_received() const {
        std::vector<std::uint64_t> all;
        for (const TcpCollector& collector : collectors) {
            all.insert(all.end(), collector.ports.begin(), collector.ports.end());
        }
        std::ranges::sort(all);
        return all;
    }
    [[nodiscard]] const CollectorCounters& account() const { return counters.group_spool; }
    [[nodiscard]] std::uint64_t inherited() const { return account().inherited.read().records; }
    [[nodiscard]] std::uint64_t handed_over() const { return account().records.read().records; }
    [[nodiscard]] std::uint64_t spooled() const { return account().spooled.read().records; }
    [[nodiscard]] std::uint64_t lost_in_spool(ExportLoss cause) const {
        return account().read_lost(cause).records;
    }
    [[nodiscard]] std::ptrdiff_t told(CollectorEventKind kind) const {
        return std::ranges::count(events, kind);
    }
    /// Ends the export, and checks the accounts of the spool and of the queue.
    void end(std::uint64_t records) {
        finish();
        RecordTally came = account().inherited.read();
        came += counters.group_spool_stored.read();
        RecordTally went = account().records.read();
        went += account().spooled.read();
        for (const RecordCounter& cause : account().lost) {
            went += cause.read();
        }
        CHECK(came.records == went.records);
        CHECK(came.packets == went.packets);
        CHECK(came.octets == went.octets);
        RecordTally known = counters.queues[0].exported.read();
        known += counters.queues[0].spooled.read();
        for (const RecordCounter& cause : counters.queues[0].lost) {
            known += cause.read();
        }
        CHECK(known.records == records);
    }
};

}  // namespace tributary::test
