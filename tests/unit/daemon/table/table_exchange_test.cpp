// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_exchange.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/table/table_queue.hpp"
#include "parsers/parse_packet.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp kBegin{1'700'000'000s};
constexpr FlowCacheOptions kMain{.max_flows = 4096};

TableDeclaration by_source(std::vector<std::string> values = {}) {
    TableDeclaration declaration;
    declaration.name = "sources";
    declaration.key = {"sourceAddress"};
    declaration.values = std::move(values);
    declaration.max_flows = 4096;
    declaration.spread = TableSpread::key;
    return declaration;
}

Frame frame_of(std::uint32_t host, std::uint8_t ttl = 64) {
    return ethernet()
        .ipv4({.source = "10.0." + std::to_string(host / 250) + "." + std::to_string(host % 250),
               .ttl = ttl})
        .udp(1000, 53)
        .payload(host % 40)
        .build();
}

/// Packets of one input thread, with their fields.
class Packets {
public:
    /// @param frame  outlives this
    void add(const Frame& frame, Timestamp seen_at, Timestamp clock, std::uint64_t number = 0) {
        PacketView& view = views_.emplace_back(frame.view());
        view.seen_at = seen_at;
        view.clock = clock;
        REQUIRE(parse_packet(view, {}, fields_.emplace_back()) == ParseStatus::ok);
        numbers_.push_back(number);
    }
    [[nodiscard]] std::size_t left() const { return views_.size() - next_; }
    /// Meters the next packets, at most kBurstPackets.
    ///
    /// @param next_number  of what comes after all of them
    void meter(TableQueue& queue, std::size_t most, Timestamp now, std::uint64_t next_number = 0) {
        const std::size_t count = std::min(most, left());
        std::array<KeyedPacket, kBurstPackets> keyed;
        for (std::size_t i = 0; i < count; ++i) {
            keyed.at(i).packet = &views_[next_ + i];
            keyed.at(i).fields = &fields_[next_ + i];
        }
        const FrameBurst burst{
            .frames = std::span(views_).subspan(next_, count),
            .now = now,
            .numbers = numbers_.data() + next_,
            .next_number = count < left() ? numbers_[next_ + count] : next_number};
        next_ += count;
        queue.match(burst, std::span(keyed).first(count));
        queue.account(burst, std::span(keyed).first(count));
    }
    [[nodiscard]] Timestamp next_clock(std::size_t most) const {
        return views_[next_ + std::min(most, left()) - 1].clock;
    }

private:
    std::vector<PacketView> views_;
    std::vector<PacketFields> fields_;
    std::vector<std::uint64_t> numbers_;
    std::size_t next_ = 0;
};

void no_burst(TableQueue& queue, Timestamp now) { Packets().meter(queue, 0, now); }

/// A table that is spread by key over some queues.
struct Spread {
    Spread(const TableDeclaration& declaration, const TableSpreading& spreading)
        : Spread(declaration, spreading, std::make_shared<ExchangeQueues>(spreading.queues), 1) {}
    /// @param queues  of all tables
    Spread(const TableDeclaration& declaration, const TableSpreading& spreading,
           std::shared_ptr<ExchangeQueues> queues_of_all, std::size_t index)
        : table(declaration, {}, {.seed = 1, .packets = TablePackets::gathered}, kMain, index),
          between(std::move(queues_of_all)),
          exchange(table, spreading, *between) {
        for (std::size_t queue = 0; queue < spreading.queues; ++queue) {
            exchange.add_inbox(std::nullopt, PageUse::offline);
            queues.push_back(make_table_queue({.table = table,
                                               .exchange = &exchange,
                                               .queue = queue,
                                               .ring_slots = 1U << 14U,
                                               .pages = PageUse::offline},
                                              FlowHasher(3)));
        }
    }
    /// The queue that owns the key of a frame.
    [[nodiscard]] std::size_t owner_of(const Frame& frame) const {
        PacketFields fields;
        REQUIRE(parse_packet(frame.view(), {}, fields) == ParseStatus::ok);
        return exchange.owners().of(frame.view(), fields);
    }
    [[nodiscard]] std::uint64_t sum(Counter TableCounters::*counter) const {
        return std::accumulate(queues.begin(), queues.end(), std::uint64_t{0},
                               [counter](std::uint64_t sum, const auto& queue) {
                                   return sum + (queue->counters.*counter).read();
                               });
    }
    [[nodiscard]] std::uint64_t accounted() const {
        return std::accumulate(queues.begin(), queues.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const auto& queue) {
                                   return sum + queue->counters.cache.packets.read();
                               });
    }

    DeclaredTable table;
    std::shared_ptr<ExchangeQueues> between;
    TableExchange exchange;
    std::vector<std::unique_ptr<TableQueue>> queues;
};

/// Frames of different keys that one queue owns.
std::vector<Frame> frames_of_queue(const Spread& spread, std::size_t owner, std::size_t count) {
    std::vector<Frame> frames;
    for (std::uint32_t host = 0; frames.size() < count; ++host) {
        const Frame frame = frame_of(host);
        if (spread.owner_of(frame) == owner) {
            frames.push_back(frame);
        }
    }
    return frames;
}
/// @param frames  outlive the packets
Packets packets_at_begin(const std::vector<Frame>& frames) {
    Packets packets;
    for (const Frame& frame : frames) {
        packets.add(frame, kBegin, kBegin);
    }
    return packets;
}

using RowOctets = std::vector<std::byte>;

void add_rows(RecordSource& source, std::vector<RowOctets>& rows) {
    RowOctets record(source.record_bytes());
    while (source.drain(record, 1) == 1) {
        rows.push_back(record);
    }
}
std::vector<RowOctets> octets_of_rows(const std::vector<std::unique_ptr<TableQueue>>& queues) {
    std::vector<RowOctets> rows;
    for (const auto& queue : queues) {
        add_rows(queue->records(), rows);
    }
    std::ranges::sort(rows);
    return rows;
}
FlowRecordCore core_of(const RowOctets& row) {
    FlowRecordCore core;
    std::memcpy(&core, row.data(), sizeof core);
    return core;
}

/// Drains all queues in turn.
void drain(const Spread& spread, Timestamp now) {
    bool is_through = false;
    while (!is_through) {
        is_through = true;
        for (const auto& queue : spread.queues) {
            is_through = queue->drain(now) && is_through;
        }
    }
}

/// Packets and octets of a source.
using Sums = std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>>;

std::uint32_t host_of(const IpAddress& address) {
    return std::to_integer<std::uint32_t>(address[2]) * 250 +
           std::to_integer<std::uint32_t>(address[3]);
}

/// 1000 sources, each 8 times in each of four queues, in an order of its own, with threads.
struct FourQueues {
    static constexpr std::size_t kQueues = 4;
    static constexpr std::uint32_t kHosts = 1000;
    static constexpr std::uint64_t kEach = 8;

    explicit FourQueues(std::uint32_t slots)
        : spread(by_source(), {.queues = kQueues, .slots = slots}) {
        std::mt19937 random(slots);
        for (std::uint32_t host = 0; host < kHosts; ++host) {
            frames.push_back(frame_of(host));
        }
        for (Packets& queue : packets) {
            std::vector<std::uint32_t> hosts;
            for (std::uint32_t i = 0; i < kHosts * kEach; ++i) {
                hosts.push_back(i % kHosts);
            }
            std::ranges::shuffle(hosts, random);
            Timestamp time = kBegin;
            for (const std::uint32_t host : hosts) {
                queue.add(frames[host], time, time);
                time += 1us;
            }
        }
    }
    void run() {
        std::vector<std::jthread> threads;
        for (std::size_t queue = 0; queue < kQueues; ++queue) {
            threads.emplace_back([this, queue] {
                TableQueue& part = *spread.queues[queue];
                std::mt19937 random(static_cast<std::uint32_t>(queue));
                while (packets.at(queue).left() > 0) {
                    const std::size_t most = 1 + random() % kBurstPackets;
                    packets.at(queue).meter(part, most, packets.at(queue).next_clock(most));
                }
                while (!part.drain(kBegin + 1s)) {
                    std::this_thread::yield();
                }
            });
        }
    }
    [[nodiscard]] static constexpr std::uint64_t all() { return kQueues * kHosts * kEach; }

    std::vector<Frame> frames;
    std::array<Packets, kQueues> packets;
    Spread spread;
};

}  // namespace

TEST_CASE("TableExchange: a key whose packets come over four queues has one record",
          "[daemon][unit]") {
    FourQueues four(1U << 15U);
    four.run();
    const std::vector<RowOctets> rows = octets_of_rows(four.spread.queues);
    CHECK(rows.size() == FourQueues::kHosts);
    Sums sums;
    for (const RowOctets& row : rows) {
        const FlowRecordCore core = core_of(row);
        sums[host_of(core.key.source)] = {core.packets, core.octets};
    }
    CHECK(sums.size() == FourQueues::kHosts);
    constexpr std::uint64_t kPackets = FourQueues::kQueues * FourQueues::kEach;
    for (const auto& [host, sum] : sums) {
        CHECK(sum == std::pair{kPackets, kPackets * (20 + 8 + host % 40)});
    }
    CHECK(four.spread.sum(&TableCounters::matched) == FourQueues::all());
    CHECK(four.spread.sum(&TableCounters::refused_ring_full) == 0);
    for (const auto& queue : four.spread.queues) {  // each owns about a quarter
        CHECK(queue->counters.cache.flows_created.read() > 150);
    }
}

TEST_CASE("TableExchange: what full rings refuse is counted exactly", "[daemon][unit]") {
    FourQueues four(16);
    four.run();
    std::uint64_t in_records = 0;
    for (const RowOctets& row : octets_of_rows(four.spread.queues)) {
        in_records += core_of(row).packets;
    }
    CHECK(four.spread.sum(&TableCounters::matched) == FourQueues::all());
    CHECK(four.spread.sum(&TableCounters::refused_ring_full) > 0);
    CHECK(in_records + four.spread.sum(&TableCounters::refused_ring_full) == FourQueues::all());
    CHECK(in_records == four.spread.accounted());
}

TEST_CASE("TableExchange: a silent queue accounts what others send it", "[daemon][unit]") {
    constexpr std::uint32_t kSlots = 32;
    Spread spread(by_source(), {.queues = 2, .slots = kSlots});
    const std::vector<Frame> frames = frames_of_queue(spread, 1, 3UL * kSlots);
    Packets packets = packets_at_begin(frames);
    CHECK_FALSE(spread.queues[1]->has_work());
    packets.meter(*spread.queues[0], 20, kBegin);
    CHECK(spread.exchange.inbox(1).records == 20);
    CHECK(spread.queues[1]->counters.cache.packets.read() == 0);
    no_burst(*spread.queues[1], kBegin);
    CHECK(spread.queues[1]->counters.cache.packets.read() == 20);
    CHECK(spread.queues[1]->has_work());
    no_burst(*spread.queues[1], kBegin);
    CHECK_FALSE(spread.queues[1]->has_work());
    CHECK(spread.exchange.inbox(1).records == 0);

    // One slot of a ring stays empty.
    packets.meter(*spread.queues[0], 50, kBegin);
    CHECK(spread.queues[0]->counters.refused_ring_full.read() == 50 - (kSlots - 1));
    CHECK(spread.queues[0]->counters.matched.read() == 70);
    // The records of a silent queue end by the clocks of all queues, which go on.
    no_burst(*spread.queues[1], kBegin);
    for (Timestamp now = kBegin; now < kBegin + 60s; now += 1s) {
        no_burst(*spread.queues[1], now);
    }
    constexpr auto kIdle = static_cast<std::size_t>(FlowEndReason::idle_timeout);
    CHECK(spread.queues[1]->counters.cache.ended.at(kIdle).read() == 20 + kSlots - 1);
    drain(spread, kBegin + 60s);
    CHECK(octets_of_rows(spread.queues).size() == 20 + kSlots - 1);
}

TEST_CASE("TableExchange: clocks that differ a little cut no record", "[daemon][unit]") {
    Spread spread(by_source(), {.queues = 2});
    const Frame frame = frame_of(7);
    const std::size_t owner = spread.owner_of(frame);
    Packets late;
    Packets early;
    for (int i = 0; i < 100; ++i) {
        const Timestamp time = kBegin + i * 10ms;
        early.add(frame, time, time);
        late.add(frame, time - 700ms, time - 700ms);
    }
    for (int i = 0; i < 100; ++i) {
        const Timestamp time = kBegin + i * 10ms;
        early.meter(*spread.queues[owner], 1, time);
        late.meter(*spread.queues[1 - owner], 1, time - 700ms);
    }
    drain(spread, kBegin + 1s);
    const std::vector<RowOctets> rows = octets_of_rows(spread.queues);
    REQUIRE(rows.size() == 1);
    CHECK(core_of(rows[0]).packets == 200);
    CHECK(core_of(rows[0]).start == kBegin - 700ms);
    CHECK(core_of(rows[0]).end == kBegin + 990ms);
}

// As at the start on the path unified-header, where the first packets bring the time.
TEST_CASE("ExtractInbox: packets keep their time where clocks leap ahead after the round began",
          "[daemon][unit]") {
    Spread spread(by_source(), {.queues = 2});
    const Frame frame = frame_of(7);
    const std::size_t owner = spread.owner_of(frame);
    const std::size_t other = 1 - owner;
    PacketView view = frame.view();
    view.seen_at = kBegin;
    view.clock = kBegin;
    PacketFields fields;
    REQUIRE(parse_packet(view, {}, fields) == ParseStatus::ok);
    ExtractSender sender(spread.exchange, other);
    ExtractInbox inbox(spread.exchange, owner);

    inbox.begin_round(Timestamp{1s});
    spread.between->set_clock(other, kBegin);
    sender.add(view, fields, 0);
    REQUIRE(sender.push() == 0);
    REQUIRE(inbox.fill() == 1);
    CHECK(inbox.packet(0).clock == kBegin);
    CHECK(inbox.packet(0).seen_at == kBegin);
    CHECK(inbox.clock() == kBegin);
    inbox.release();
}

TEST_CASE("TableExchange: the clock goes back when those of all queues have", "[daemon][unit]") {
    Spread spread(by_source(), {.queues = 2});
    const Frame frame = frame_of(7);
    TableQueue& owner = *spread.queues[spread.owner_of(frame)];
    TableQueue& other = *spread.queues[1 - spread.owner_of(frame)];
    Packets packets;
    packets.add(frame, kBegin, kBegin);
    packets.add(frame, kBegin + 2s - 1h, kBegin + 2s - 1h);
    no_burst(other, kBegin);
    packets.meter(owner, 1, kBegin);
    constexpr auto kForced = static_cast<std::size_t>(FlowEndReason::forced_end);
    // The other queue has not seen yet that the host's clock was set back.
    no_burst(owner, kBegin + 1s - 1h);
    CHECK(owner.counters.cache.ended.at(kForced).read() == 0);
    no_burst(other, kBegin + 2s - 1h);
    packets.meter(owner, 1, kBegin + 2s - 1h);
    CHECK(owner.counters.cache.ended.at(kForced).read() == 1);
    drain(spread, kBegin + 3s - 1h);
    CHECK(octets_of_rows(spread.queues).size() == 2);
    CHECK(spread.accounted() == 2);
}

namespace {

/// What a table has of packets, in order, whose number is their place.
struct Captured {
    Captured(std::uint32_t seed, std::size_t count) {
        std::mt19937 random(seed);
        for (std::uint32_t host = 0; host < 20; ++host) {
            for (std::uint8_t ttl = 1; ttl < 5; ++ttl) {
                frames.push_back(frame_of(host, ttl));
            }
        }
        Timestamp clock = kBegin;
        for (std::size_t i = 0; i < count; ++i) {
            // Some packets are of an earlier time than those before them.
            const Timestamp seen_at = clock + std::chrono::milliseconds(random() % 40) - 10ms;
            clock = std::max(clock, seen_at);
            packets.push_back({random() % frames.size(), seen_at, clock, random()});
        }
    }

    struct Packet {
        std::size_t frame;
        Timestamp seen_at;
        Timestamp clock;
        std::uint64_t chance;  ///< of its queue
    };
    std::vector<Frame> frames;
    std::vector<Packet> packets;
};

TableDeclaration in_order() {
    TableDeclaration declaration =
        by_source({"first(ipTTL)", "last(ipTTL)", "or(ipTTL)", "distinct(ipTTL)"});
    declaration.idle_timeout = 1s;
    declaration.active_timeout = 4s;
    return declaration;
}

std::vector<RowOctets> rows_of_one_queue(const Captured& captured) {
    const DeclaredTable table(in_order(), {}, {.parse = {}, .seed = 1}, kMain, 1);
    std::vector<std::unique_ptr<TableQueue>> queue;
    queue.push_back(make_table_queue(
        {.table = table, .ring_slots = 1U << 14U, .pages = PageUse::offline}, FlowHasher(5)));
    Packets packets;
    for (const Captured::Packet& packet : captured.packets) {
        packets.add(captured.frames[packet.frame], packet.seen_at, packet.clock);
    }
    while (packets.left() > 0) {
        packets.meter(*queue.front(), kBurstPackets, packets.next_clock(kBurstPackets));
    }
    while (!queue.front()->drain(captured.packets.back().clock)) {
    }
    return octets_of_rows(queue);
}

/// Each queue has a thread of its own, which meters in bursts of random sizes, and drains.
void meter_with_threads(const Captured& captured, std::vector<Packets>& packets,
                        const Spread& spread, std::uint32_t seed) {
    std::vector<std::jthread> threads;
    for (std::size_t queue = 0; queue < packets.size(); ++queue) {
        threads.emplace_back([&captured, &own = packets[queue], &part = *spread.queues[queue],
                              seed = static_cast<std::uint32_t>(queue + seed)] {
            std::mt19937 random(seed);
            while (own.left() > 0) {
                const std::size_t most = 1 + random() % kBurstPackets;
                own.meter(part, most, own.next_clock(most), captured.packets.size());
            }
            while (!part.drain(captured.packets.back().clock)) {
                std::this_thread::yield();
            }
        });
    }
}

}  // namespace

TEST_CASE("TableExchange: in the order of a capture, whatever the number of queues and slots",
          "[daemon][unit]") {
    const Captured captured(9, 20'000);
    const std::vector<RowOctets> expected = rows_of_one_queue(captured);
    CHECK(expected.size() > 200);
    for (std::size_t queues = 2; queues <= 8; ++queues) {
        for (const std::uint32_t slots : {4U, 64U, 1024U}) {
            Spread spread(in_order(),
                          {.queues = queues, .order = SpreadOrder::capture, .slots = slots});
            std::vector<Packets> packets(queues);
            for (std::size_t number = 0; number < captured.packets.size(); ++number) {
                const Captured::Packet& packet = captured.packets[number];
                packets[packet.chance % queues].add(captured.frames[packet.frame], packet.seen_at,
                                                    packet.clock, number);
            }
            meter_with_threads(captured, packets, spread, slots);
            CHECK(octets_of_rows(spread.queues) == expected);
            CHECK(spread.sum(&TableCounters::refused_ring_full) == 0);
            CHECK(spread.accounted() == captured.packets.size());
        }
    }
}

TEST_CASE("TableExchange: several tables over small rings, in the order of a capture",
          "[daemon][unit]") {
    const Captured captured(11, 20'000);
    const std::vector<RowOctets> expected = rows_of_one_queue(captured);
    for (const std::size_t queues : {2U, 3U, 5U}) {
        const TableSpreading spreading{.queues = queues, .order = SpreadOrder::capture, .slots = 4};
        const auto between = std::make_shared<ExchangeQueues>(queues);
        std::vector<std::unique_ptr<Spread>> tables;
        for (std::size_t table = 0; table < 3; ++table) {
            TableDeclaration declaration = in_order();
            declaration.name = "table-" + std::to_string(table);
            // The middle one has another key, and so other owners.
            declaration.key = {table == 1 ? "ipTTL" : "sourceAddress"};
            declaration.values.resize(table == 1 ? 0 : declaration.values.size());
            tables.push_back(std::make_unique<Spread>(declaration, spreading, between, table + 1));
        }
        std::vector<std::vector<Packets>> of_queues(queues, std::vector<Packets>(tables.size()));
        for (std::size_t number = 0; number < captured.packets.size(); ++number) {
            const Captured::Packet& packet = captured.packets[number];
            // A queue has the stream alone for a while, and then all have some of it.
            const std::size_t alone = number / 1000 % queues;
            const bool is_alone = number / 1000 % 2 == 0;
            for (Packets& own : of_queues[is_alone ? alone : packet.chance % queues]) {
                own.add(captured.frames[packet.frame], packet.seen_at, packet.clock, number);
            }
        }
        std::vector<std::jthread> threads;
        for (std::size_t queue = 0; queue < queues; ++queue) {
            threads.emplace_back([&, queue] {
                std::vector<Packets>& packets = of_queues[queue];
                while (packets.front().left() > 0) {
                    for (std::size_t table = 0; table < tables.size(); ++table) {
                        packets[table].meter(*tables[table]->queues[queue], kBurstPackets,
                                             packets[table].next_clock(kBurstPackets),
                                             captured.packets.size());
                    }
                }
                bool is_through = false;
                while (!is_through) {
                    is_through = true;
                    for (const auto& table : tables) {
                        is_through = table->queues[queue]->drain(captured.packets.back().clock) &&
                                     is_through;
                    }
                    std::this_thread::yield();
                }
            });
        }
        threads.clear();
        for (std::size_t table = 0; table < tables.size(); ++table) {
            CHECK(tables[table]->accounted() == captured.packets.size());
            if (table != 1) {
                CHECK(octets_of_rows(tables[table]->queues) == expected);
            }
        }
        while (!tables.empty()) {  // field groups go in the reverse order
            tables.pop_back();
        }
    }
}

TEST_CASE("TableExchange: abandoned, it waits for no queue", "[daemon][unit]") {
    Spread spread(by_source(), {.queues = 2, .order = SpreadOrder::capture, .slots = 8});
    std::vector<Frame> frames;
    Packets packets;
    for (std::uint32_t host = 0; host < 60; ++host) {
        frames.push_back(frame_of(host));
    }
    std::uint64_t number = 0;
    for (const Frame& frame : frames) {
        packets.add(frame, kBegin, kBegin, number++);
    }
    std::jthread queue([&] {  // the other queue never starts
        packets.meter(*spread.queues[0], kBurstPackets, kBegin, number);
        while (!spread.queues[0]->drain(kBegin)) {
            std::this_thread::yield();
        }
    });
    std::this_thread::sleep_for(20ms);
    spread.between->abandon();
    queue.join();
    CHECK(spread.queues[0]->counters.matched.read() == 60);
    CHECK(spread.queues[0]->counters.refused_ring_full.read() > 0);
}

TEST_CASE("TableExchange: what comes to a queue that has ended is counted", "[daemon][unit]") {
    constexpr std::uint32_t kSlots = 32;
    Spread spread(by_source(), {.queues = 2, .slots = kSlots});
    const std::vector<Frame> frames = frames_of_queue(spread, 1, 60);
    Packets packets = packets_at_begin(frames);
    packets.meter(*spread.queues[0], 20, kBegin);
    spread.between->abandon();
    CHECK(spread.queues[1]->drain(kBegin));  // with the 20 that had come
    packets.meter(*spread.queues[0], 40, kBegin);
    CHECK(spread.queues[0]->drain(kBegin));
    for (const auto& queue : spread.queues) {
        queue->refuse_rest();
    }
    CHECK(spread.exchange.inbox(1).records == 0);
    CHECK(spread.sum(&TableCounters::matched) == 60);
    CHECK(spread.accounted() == 20);
    CHECK(spread.sum(&TableCounters::refused_owner_ended) == kSlots - 1);
    CHECK(spread.sum(&TableCounters::refused_ring_full) == 40 - (kSlots - 1));
    CHECK(octets_of_rows(spread.queues).size() == 20);
}

TEST_CASE("TableExchange: flows that begin after an abandoned queue was drained end too",
          "[daemon][unit]") {
    Spread spread(by_source(), {.queues = 2});
    const std::vector<Frame> frames = frames_of_queue(spread, 1, 30);
    Packets packets = packets_at_begin(frames);
    packets.meter(*spread.queues[0], 20, kBegin);
    spread.between->abandon();
    CHECK(spread.queues[1]->drain(kBegin));
    packets.meter(*spread.queues[0], 10, kBegin);
    CHECK(spread.queues[1]->drain(kBegin));  // called again while the main cache drains
    CHECK(spread.queues[1]->counters.cache.packets.read() == 30);
    CHECK(octets_of_rows(spread.queues).size() == 30);
}
