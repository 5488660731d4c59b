// SPDX-License-Identifier: Apache-2.0
// A collector that is written by the interface alone, beside one that gets IPFIX by TCP.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/collector_group_harness.hpp"
#include "tests/support/plain_collector.hpp"
#include "tests/support/spooled_export.hpp"
#include "tests/support/spooled_group.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::size_t kIpfix = 0;
constexpr std::size_t kPlain = 1;

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> ports) {
    std::ranges::sort(ports);
    return ports;
}

std::vector<std::uint64_t> joined(std::vector<std::uint64_t> ports,
                                  const std::vector<std::uint64_t>& more) {
    ports.insert(ports.end(), more.begin(), more.end());
    return sorted(ports);
}

void put(RecordQueue& queue, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t number = first; number < end; ++number) {
        queue.put(record_of(static_cast<std::uint16_t>(number)));
    }
}

/// What a collector's own account says of records that were meant for it.
std::uint64_t accounted(const CollectorCounters& account) {
    std::uint64_t records = account.records.read().records;
    for (const RecordCounter& cause : account.lost) {
        records += cause.read().records;
    }
    return records;
}

}  // namespace

TEST_CASE("Collector: in mode copy another kind gets every record that the IPFIX one gets",
          "[export][unit]") {
    PlainReceiver receiver;
    GroupExport group(ExportMode::copy);
    group.factory = PlainAmong{{{kPlain, &receiver}}};
    group.start();
    group.run(milliseconds{500});
    put(group.queue, 0, 1500);
    group.run(milliseconds{2000});
    CHECK(receiver.ports == numbers(0, 1500));
    CHECK(group.collectors[kIpfix].ports == receiver.ports);

    receiver.is_there = false;  // its buffer takes 1000 records, and the other one goes on
    put(group.queue, 1500, 3000);
    group.run(milliseconds{2000});
    receiver.is_there = true;
    group.run(milliseconds{500});
    CHECK(group.collectors[kIpfix].ports == numbers(0, 3000));
    CHECK(receiver.ports == numbers(0, 2500));
    CHECK(group.lost_to(kPlain, ExportLoss::buffer_full) == 500);

    receiver.refuses = true;
    put(group.queue, 3000, 3100);
    group.run(milliseconds{2000});
    receiver.refuses = false;
    group.collectors[kIpfix].go_away();  // the other fault: alone it gets all
    put(group.queue, 3100, 3600);
    group.run(milliseconds{2000});
    CHECK(receiver.ports.back() == 3599);
    group.collectors[kIpfix].come_back();
    group.run(milliseconds{15'000});
    group.finish();
    CHECK(group.collectors[kIpfix].ports == numbers(0, 3600));
    CHECK(group.lost_to(kPlain, ExportLoss::send_refused) == 100);
    CHECK(receiver.ports.size() == 3000);
    CHECK(accounted(group.counters.collectors[kPlain]) == 3600);
    CHECK(accounted(group.counters.collectors[kIpfix]) == 3600);
    CHECK(group.exported() == 3600);  // each record has reached one of them
    CHECK(group.lost(ExportLoss::send_refused) == 0);
}

TEST_CASE("Collector: in mode balance another kind gets the share that an IPFIX one would get",
          "[export][unit]") {
    std::vector<std::uint64_t> share;
    {
        GroupExport group(ExportMode::balance);
        group.start();
        group.run(milliseconds{500});
        put(group.queue, 0, 2000);
        group.run(milliseconds{2000});
        group.finish();
        share = group.collectors[kPlain].ports;
    }
    CHECK(share.size() > 500);
    PlainReceiver receiver;
    GroupExport group(ExportMode::balance);
    group.factory = PlainAmong{{{kPlain, &receiver}}};
    group.start();
    group.run(milliseconds{500});
    put(group.queue, 0, 1000);
    group.run(milliseconds{2000});
    receiver.takes = false;  // what is its share waits
    put(group.queue, 1000, 2000);
    group.run(milliseconds{2000});
    CHECK(receiver.ports.size() < share.size());
    receiver.takes = true;
    group.run(milliseconds{500});
    group.finish();
    CHECK(receiver.ports == share);
    CHECK(joined(receiver.ports, group.collectors[kIpfix].ports) == numbers(0, 2000));
    CHECK(group.exported() == 2000);
}

TEST_CASE("Collector: in mode failover records go between two kinds, each once", "[export][unit]") {
    const bool plain_first = GENERATE(false, true);
    const std::size_t first = plain_first ? 0 : 1;  // the plain one's index
    PlainReceiver receiver;
    GroupExport group(ExportMode::failover);
    group.factory = PlainAmong{{{first, &receiver}}};
    TcpCollector& ipfix = group.collectors[1 - first];
    const auto leaves = [&](bool is_plain) {
        if (is_plain) {
            receiver.is_there = false;
        } else {
            ipfix.go_away();
        }
    };
    group.start();
    group.run(milliseconds{500});
    put(group.queue, 0, 800);
    group.run(milliseconds{2000});
    receiver.takes = false;  // what it has then waits there
    put(group.queue, 800, 1100);
    static_cast<void>(group.worker->step(at(group.uptime)));
    leaves(plain_first);
    receiver.takes = true;
    group.run(milliseconds{3000});
    put(group.queue, 1100, 2000);
    group.run(milliseconds{3000});
    CHECK(joined(receiver.ports, ipfix.ports) == numbers(0, 2000));
    CHECK(receiver.ports.size() >= 800);
    CHECK(ipfix.ports.size() >= 800);

    receiver.is_there = true;
    if (!plain_first) {
        ipfix.come_back();
    }
    group.run(milliseconds{15'000});
    const std::size_t before = plain_first ? receiver.ports.size() : ipfix.ports.size();
    put(group.queue, 2000, 2100);
    group.run(milliseconds{2000});
    group.finish();
    const std::size_t after = plain_first ? receiver.ports.size() : ipfix.ports.size();
    CHECK(after == before + 100);  // the first one has them again
    CHECK(joined(receiver.ports, ipfix.ports) == numbers(0, 2100));
    CHECK(group.has(0) + group.has(1) == 2100);
    CHECK(group.exported() == 2100);
}

TEST_CASE("Collector: the group's spool keeps the records of any kind of collector",
          "[export][unit]") {
    const TemporaryDirectory directory;
    PlainReceiver receiver;
    receiver.is_there = false;
    {
        SpooledGroup group(directory, 2);
        group.factory = PlainAmong{{{0, &receiver}}};
        group.start_with_none();
        group.put(0, 500);  // in the plain one's memory first
        group.run(milliseconds{6000});
        group.put(500, 3000);
        group.run(milliseconds{2000});
        CHECK(group.account().spool_octets.read() > 3000 * 80);
        receiver.is_there = true;
        group.run(milliseconds{3000});
        CHECK(receiver.ports == numbers(0, 3000));
        CHECK(group.account().spool_octets.read() == 0);

        receiver.takes = false;
        group.put(3000, 3500);
        group.run(milliseconds{1000});
        receiver.is_there = false;
        group.collectors[1].come_back();  // what had not arrived goes to the other kind
        group.run(milliseconds{15'000});
        CHECK(group.collectors[1].ports == numbers(3000, 3500));
        group.collectors[1].go_away();
        group.put(3500, 4000);
        group.run(milliseconds{6000});
        group.end(4000);
        CHECK(group.spooled() == 500);
        CHECK(group.exported() == 3500);
    }
    SpooledGroup next(directory, 2);
    PlainReceiver heir;
    next.factory = PlainAmong{{{0, &heir}}};
    next.start_with_none(milliseconds{3000});
    CHECK(heir.ports == numbers(3500, 4000));
    next.end(0);
    CHECK(next.inherited() == 500);
    CHECK(spool_files_in(directory).empty());
}

TEST_CASE("Collector: what a collector of any kind does not take at the end is lost by name",
          "[export][unit]") {
    PlainReceiver receiver;
    receiver.is_there = false;
    GroupExport group(ExportMode::copy);
    group.factory = PlainAmong{{{kPlain, &receiver}}};
    group.options.drain_timeout = milliseconds{200};
    group.start();
    put(group.queue, 0, 300);
    group.run(milliseconds{2000});
    group.finish();
    CHECK(group.has(kIpfix) == 300);
    CHECK(group.lost_to(kPlain, ExportLoss::collector_away) == 300);
    CHECK(group.exported() == 300);
}
