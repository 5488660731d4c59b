// SPDX-License-Identifier: Apache-2.0
#include "export/record_accounting.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace tributary;

namespace {

RecordEntry entry(std::uint64_t number, std::size_t queue = 0) {
    return {.number = number, .queue = queue, .packets = 10, .octets = 1000};
}

/// A record whose packets and octets no other index gives.
RecordEntry begin_record(RecordAccounting& accounting, std::uint64_t index) {
    RecordEntry entry{
        .number = 0, .queue = 0, .packets = index + 1, .octets = std::uint64_t{100} << index};
    entry.number = accounting.begin(0, entry.tally(), 2);
    return entry;
}

}  // namespace

TEST_CASE("RecordAccounting: a record is exported when the first collector has it",
          "[export][unit]") {
    ExportCounters counters(2, 3);
    RecordAccounting accounting(counters, 3);
    const std::uint64_t number = accounting.begin();
    accounting.lost(1, entry(number, 1), ExportLoss::buffer_full);
    CHECK(counters.queues[1].exported.read() == RecordTally{});
    accounting.delivered(2, entry(number, 1));
    CHECK(counters.queues[1].exported.read() == RecordTally{1, 10, 1000});
    CHECK(accounting.blocks() == 1);
    accounting.delivered(0, entry(number, 1));
    CHECK(counters.queues[1].exported.read() == RecordTally{1, 10, 1000});
    CHECK(counters.queues[1].read_lost(ExportLoss::buffer_full) == RecordTally{});
    CHECK(counters.collectors[1].read_lost(ExportLoss::buffer_full) == RecordTally{1, 10, 1000});
    CHECK(counters.collectors[0].records.read() == RecordTally{1, 10, 1000});
}

TEST_CASE("RecordAccounting: a record is lost when the last collector has lost it",
          "[export][unit]") {
    ExportCounters counters(1, 2);
    RecordAccounting accounting(counters, 2);
    const std::uint64_t first = accounting.begin();
    const std::uint64_t second = accounting.begin();
    accounting.lost(0, entry(second), ExportLoss::write_failed);
    accounting.lost(1, entry(second), ExportLoss::collector_away);
    CHECK(counters.queues[0].read_lost(ExportLoss::collector_away) == RecordTally{1, 10, 1000});
    CHECK(counters.queues[0].read_lost(ExportLoss::write_failed) == RecordTally{});
    accounting.delivered(0, entry(first));
    accounting.lost(1, entry(first), ExportLoss::collector_away);
    CHECK(counters.queues[0].exported.read() == RecordTally{1, 10, 1000});
}

TEST_CASE("RecordAccounting: in any order, each record is counted once", "[export][unit]") {
    constexpr std::size_t kCollectors = 16;
    constexpr std::size_t kRecords = 2000;
    ExportCounters counters(1, kCollectors);
    RecordAccounting accounting(counters, kCollectors);
    std::vector<std::vector<bool>> is_delivered(kCollectors, std::vector<bool>(kRecords));
    std::mt19937 random(1);
    std::vector<std::size_t> next(kCollectors);
    std::uint64_t exported = 0;
    for (std::size_t number = 0; number < kRecords; ++number) {
        CHECK(accounting.begin() == number);
        bool any = false;
        for (auto& of_collector : is_delivered) {
            of_collector[number] = random() % 16 == 0;
            any = any || of_collector[number];
        }
        exported += any ? 1 : 0;
    }
    for (std::size_t told = 0; told < kRecords * kCollectors;) {
        const std::size_t collector = random() % kCollectors;
        const std::size_t number = next[collector];
        if (number == kRecords) {
            continue;
        }
        if (is_delivered[collector][number]) {
            accounting.delivered(collector, entry(number));
        } else {
            accounting.lost(collector, entry(number), ExportLoss::buffer_full);
        }
        ++next[collector];
        ++told;
    }
    CHECK(exported > 1000);
    CHECK(counters.queues[0].exported.read().records == exported);
    CHECK(counters.queues[0].read_lost(ExportLoss::buffer_full).records == kRecords - exported);
}

TEST_CASE("RecordAccounting: a record that waits for long costs no more than its block",
          "[export][unit]") {
    ExportCounters counters(1, 2);
    RecordAccounting accounting(counters, 2);
    const std::uint64_t waiting = accounting.begin();
    accounting.delivered(0, entry(waiting));
    for (int i = 0; i < 10'000'000; ++i) {
        const std::uint64_t number = accounting.begin();
        accounting.delivered(0, entry(number));
        accounting.lost(1, entry(number), ExportLoss::buffer_full);
    }
    CHECK(accounting.blocks() <= 2);
    accounting.delivered(1, entry(waiting));
    CHECK(accounting.blocks() <= 1);
    CHECK(counters.queues[0].exported.read().records == 10'000'001);
    CHECK(counters.collectors[1].records.read().records == 1);
}

TEST_CASE("RecordAccounting: records of one collector need no memory", "[export][unit]") {
    ExportCounters counters(1, 3);
    RecordAccounting accounting(counters, 1);
    for (int i = 0; i < 10'000; ++i) {
        accounting.delivered(1, entry(accounting.begin()));
        accounting.lost(2, entry(accounting.begin()), ExportLoss::collector_away);
    }
    CHECK(accounting.blocks() == 0);
    CHECK(counters.queues[0].exported.read().records == 10'000);
    CHECK(counters.queues[0].read_lost(ExportLoss::collector_away).records == 10'000);
}

TEST_CASE("RecordAccounting: the number of copies changes while records are under way",
          "[export][unit]") {
    ExportCounters counters(1, 3);
    RecordAccounting accounting(counters, 1);
    std::vector<RecordEntry> one;
    std::vector<RecordEntry> three;
    const auto begin = [&](std::vector<RecordEntry>& entries, int count) {
        for (int i = 0; i < count; ++i) {
            entries.push_back(
                {.number = accounting.begin(), .queue = 0, .packets = 1, .octets = 2});
        }
    };
    begin(one, 100);
    accounting.set_copies(3);
    begin(three, 5000);
    accounting.set_copies(1);
    begin(one, 100);
    accounting.set_copies(3);
    begin(three, 10);
    for (const RecordEntry& record : three) {
        for (std::size_t collector = 0; collector < 3; ++collector) {
            accounting.delivered(collector, record);
        }
    }
    for (const RecordEntry& record : one) {
        accounting.delivered(0, record);
    }
    CHECK(counters.queues[0].exported.read().records == 5210);
    CHECK(counters.collectors[2].records.read().records == 5010);
    accounting.set_copies(1);
    CHECK(accounting.blocks() == 0);
}

TEST_CASE("RecordAccounting: unread records of one collector are lost by their sums",
          "[export][unit]") {
    ExportCounters counters(2, 1);
    RecordAccounting accounting(counters, 1);
    const RecordTally tally{5, 50, 5000};
    accounting.lost(0, UnreadRecords{.queues = {{}, tally}, .numbers = {}},
                    ExportLoss::spool_damaged);
    CHECK(counters.queues[1].read_lost(ExportLoss::spool_damaged) == tally);
    CHECK(counters.queues[0].read_lost(ExportLoss::spool_damaged) == RecordTally{});
    CHECK(counters.collectors[0].read_lost(ExportLoss::spool_damaged) == tally);
}

TEST_CASE("RecordAccounting: unread records are lost where no other collector has them",
          "[export][unit]") {
    // Which of the four the other collector gets, by bit, and whether it does so before.
    for (unsigned delivered = 0; delivered < 16; ++delivered) {
        for (const bool is_before : {false, true}) {
            INFO(delivered << (is_before ? " before" : " after"));
            ExportCounters counters(1, 2);
            RecordAccounting accounting(counters, 2);
            std::vector<RecordEntry> entries;
            UnreadRecords unread;
            unread.queues.resize(1);
            RecordTally lost;
            for (std::uint64_t i = 0; i < 4; ++i) {
                const RecordEntry entry = begin_record(accounting, i);
                entries.push_back(entry);
                unread.queues[0] += entry.tally();
                unread.numbers[entry.number] = entry.number + 1;
                lost += (delivered >> i & 1U) != 0 ? RecordTally{} : entry.tally();
            }
            const auto settle_others = [&] {
                for (std::uint64_t i = 0; i < 4; ++i) {
                    if ((delivered >> i & 1U) != 0) {
                        accounting.delivered(1, entries[i]);
                    } else {
                        accounting.lost(1, entries[i], ExportLoss::buffer_full);
                    }
                }
            };
            if (is_before) {
                settle_others();
            }
            accounting.lost(0, unread, ExportLoss::spool_damaged);
            if (!is_before) {
                settle_others();
            }
            accounting.settle_unread();
            RecordTally both = counters.queues[0].read_lost(ExportLoss::spool_damaged);
            both += counters.queues[0].read_lost(ExportLoss::buffer_full);
            CHECK(both == lost);
            CHECK(counters.collectors[0].read_lost(ExportLoss::spool_damaged) == unread.queues[0]);
        }
    }
}

TEST_CASE("RecordAccounting: unread records stay in a spool where no other collector has them",
          "[export][unit]") {
    // Which of the four the other collector gets, by bit, and whether one number was forgotten.
    for (unsigned delivered = 0; delivered < 16; ++delivered) {
        for (const bool lacks_numbers : {false, true}) {
            INFO(delivered << (lacks_numbers ? " with a number forgotten" : ""));
            ExportCounters counters(1, 2);
            RecordAccounting accounting(counters, 2);
            UnreadRecords unread{.queues = std::vector<RecordTally>(1),
                                 .numbers = {},
                                 .lacks_numbers = lacks_numbers};
            RecordTally stays;
            for (std::uint64_t i = 0; i < 4; ++i) {
                const RecordEntry entry = begin_record(accounting, i);
                unread.queues[0] += entry.tally();
                if (!lacks_numbers || i != 2) {
                    unread.numbers[entry.number] = entry.number + 1;
                }
                if ((delivered >> i & 1U) != 0) {
                    accounting.delivered(1, entry);
                } else {
                    accounting.lost(1, entry, ExportLoss::buffer_full);
                    stays += entry.tally();
                }
            }
            accounting.spooled(0, unread);
            accounting.settle_unread();
            CHECK(counters.collectors[0].spooled.read() == unread.queues[0]);
            CHECK(counters.queues[0].spooled.read() == stays);
        }
    }
}

TEST_CASE("RecordAccounting: each record has the copies that it began with", "[export][unit]") {
    ExportCounters counters(1, 3);
    RecordAccounting accounting(counters, 3);
    std::vector<RecordEntry> entries;
    std::vector<std::size_t> copies;
    for (std::size_t i = 0; i < 9000; ++i) {
        copies.push_back(1 + i % 3);
        RecordEntry record = entry(0);
        record.number = accounting.begin(0, record.tally(), copies.back());
        entries.push_back(record);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
        for (std::size_t collector = 0; collector + 1 < copies[i]; ++collector) {
            accounting.lost(collector, entries[i], ExportLoss::write_failed);
        }
        CHECK(counters.queues[0].exported.read().records == i);
        accounting.delivered(copies[i] - 1, entries[i]);
    }
    CHECK(counters.queues[0].exported.read().records == 9000);
    CHECK(counters.queues[0].read_lost(ExportLoss::write_failed).records == 0);
    accounting.set_copies(1);
    CHECK(accounting.blocks() == 0);
}

TEST_CASE("RecordAccounting: a collector's account is split by the tables of queues",
          "[export][unit]") {
    ExportCounters counters(3, 2);
    counters.make_parts({0, 1, 1}, 3);
    counters.split();
    RecordAccounting accounting(counters, 1);
    const auto begin = [&](std::size_t queue) {
        RecordEntry record = entry(0, queue);
        record.number = accounting.begin(queue, record.tally(), 1);
        return record;
    };
    accounting.delivered(0, begin(0));
    accounting.delivered(0, begin(1));
    accounting.delivered(0, begin(2));
    accounting.lost(0, begin(2), ExportLoss::collector_away);
    accounting.spooled(0, begin(1));
    accounting.lost_unbegun_copy(0, 2, {1, 10, 1000}, ExportLoss::buffer_full);
    accounting.lost(0, UnreadRecords{.queues = {{1, 10, 1000}, {2, 20, 2000}}, .numbers = {}},
                    ExportLoss::spool_damaged);
    accounting.spooled(0, UnreadRecords{.queues = {{}, {}, {3, 30, 3000}}, .numbers = {}});
    // Those of a former process are of no table.
    accounting.delivered(0, entry(0, kNoQueue));
    accounting.lost(0, {}, {7, 70, 7000}, ExportLoss::spool_damaged);
    const CollectorCounters& account = counters.collectors[0];
    REQUIRE(account.tables.size() == 3);
    const auto check = [&](std::size_t table, std::uint64_t records, std::uint64_t lost,
                           std::uint64_t spooled) {
        const CollectorTableCounters& part = account.tables[table];
        CHECK(part.records.read() == RecordTally{records, 10 * records, 1000 * records});
        CHECK(part.lost.read() == RecordTally{lost, 10 * lost, 1000 * lost});
        CHECK(part.spooled.read() == RecordTally{spooled, 10 * spooled, 1000 * spooled});
    };
    check(0, 1, 1, 0);
    check(1, 2, 4, 4);
    check(2, 0, 0, 0);
    CHECK(account.records.read().records == 4);
    CHECK(account.spooled.read().records == 4);
    CHECK(counters.collectors[1].tables[1].records.read() == RecordTally{});
    CHECK(counters.group_spool.tables.empty());
}
