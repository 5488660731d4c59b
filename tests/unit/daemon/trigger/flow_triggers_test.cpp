// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/flow_triggers.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr FlowCacheOptions kOptions{.max_flows = 64,
                                    .idle_timeout = 10s,
                                    .active_timeout = 20s,
                                    .flow_holders = true,
                                    .dump_files = true};
const RecordLayout kLayout = RecordLayout::of(groups_of<ExtremesGroup, PacketDumpGroup>());
using Record = FlowRecord<152>;

/// A cache whose flows triggers look at.
class Watched {
public:
    explicit Watched(const std::vector<std::string>& conditions, TriggerRate rate = {1000, 1s}) {
        for (const std::string& when : conditions) {
            TriggerOptions options;
            options.name = "t";
            options.when = when;
            options.rate = rate;
            armed.push_back(std::make_unique<ArmedTrigger>(options, armed.size()));
            pointers_.push_back(armed.back().get());
        }
        triggers_ = std::make_unique<FlowTriggers>(
            events_, pointers_, numbers_, TimestampUnit::milliseconds,
            CachePlace{
                .entries = harness.cache.capacity(), .numa_node = {}, .pages = PageUse::offline});
        flows_.replace_holders(1);
        triggers_->attach(flows_);
    }
    /// Accounts one burst.
    void packets(std::span<const TimedPacket> all) {
        std::vector<PacketView> views;
        views.reserve(all.size());
        harness.burst.clear();
        for (const TimedPacket& packet : all) {
            views.push_back({.ingress_interface = InterfaceIndex{1},
                             .seen_at = packet.time,
                             .clock = packet.clock});
            harness.burst.add(views.back(), packet.fields);
        }
        account_watched(harness.cache, harness.burst.finish(), harness.sink, triggers_.get());
    }
    void packet(const PacketFields& fields, Timestamp time) {
        const TimedPacket one{fields, time, time};
        packets(std::span(&one, 1));
    }
    /// What has fired since.
    [[nodiscard]] std::vector<TriggerEvent> fired() {
        std::vector<TriggerEvent> all;
        for (TriggerEvent event; events_->pop(event);) {
            all.push_back(event);
        }
        return all;
    }
    /// The number of the file in the last record that has ended.
    [[nodiscard]] std::uint32_t mark() {
        return harness.sink.records.back()
            .group<PacketDumpGroup>(kLayout.at<PacketDumpGroup>())
            .file_number;
    }

    std::vector<std::unique_ptr<ArmedTrigger>> armed;
    CacheHarness<152> harness{kOptions, kLayout};

private:
    std::vector<ArmedTrigger*> pointers_;
    FileNumbers numbers_;
    std::shared_ptr<TriggerEvents> events_ = std::make_shared<TriggerEvents>(
        std::make_shared<const WatchedTable>(watch_main(kLayout, kOptions, {})),
        WhenEventsFull::refuse);
    CacheFlows<FlowCache<152>> flows_{harness.cache};
    std::unique_ptr<FlowTriggers> triggers_;
};

PacketFields with_ttl(std::uint32_t flow, std::uint8_t ttl) {
    PacketFields fields = flow_packet(flow);
    fields.ttl = ttl;
    return fields;
}

}  // namespace

TEST_CASE("FlowTriggers: fires once for a record, at the packet that made it match",
          "[daemon][unit]") {
    Watched watched({"maximumTTL - minimumTTL > 3"});
    for (int packet = 0; packet < 10; ++packet) {
        watched.packet(with_ttl(1, 64), at_ms(1000 + packet));
        watched.packet(with_ttl(2, packet < 5 ? 64 : 60), at_ms(1000 + packet));
    }
    const std::vector<TriggerEvent> fired = watched.fired();
    REQUIRE(fired.size() == 1);
    CHECK(fired[0].at == at_ms(1005));
    CHECK(fired[0].file == 1);
    CHECK_FALSE(fired[0].is_at_end);
    CHECK(fired[0].flow.key.source == with_ttl(2, 0).source);
    watched.harness.expire(at_ms(60'000));
    REQUIRE(watched.harness.sink.records.size() == 2);
    for (Record& record : watched.harness.sink.records) {
        const bool is_strange = record.core.key.source == with_ttl(2, 0).source;
        const auto& group = record.group<PacketDumpGroup>(kLayout.at<PacketDumpGroup>());
        CHECK(group.file_number == (is_strange ? 1 : 0));
    }
}

TEST_CASE("FlowTriggers: the next record of a flow, and the next flow of an entry, begin anew",
          "[daemon][unit]") {
    Watched watched({"packets >= 3"});
    for (int second = 0; second < 42; ++second) {
        watched.packet(flow_packet(1), at_ms(1000 * second));
    }
    CHECK(watched.fired().size() == 2);  // the active timeout has cut one record
    watched.harness.expire(at_ms(100'000));
    watched.packet(flow_packet(1), at_ms(101'000));
    watched.packet(flow_packet(1), at_ms(101'001));
    CHECK(watched.fired().empty());
    watched.packet(flow_packet(1), at_ms(101'002));
    CHECK(watched.fired().size() == 1);
}

TEST_CASE("FlowTriggers: the end of a record is tested with its reason, also within a burst",
          "[daemon][unit]") {
    Watched watched({"reason idle and packets = 1"});
    std::vector<TimedPacket> burst;
    for (std::uint32_t flow = 0; flow < 20; ++flow) {
        const Timestamp time = at_ms(20'000 * (flow + 1));  // each ends the one before
        burst.push_back({flow_packet(flow), time, time});
        burst.push_back({flow_packet(flow + 100), time, time});
        watched.harness.cache.expire_some(time, 1000, watched.harness.sink);
    }
    watched.packets(burst);
    watched.harness.expire(at_ms(1'000'000));
    const std::vector<TriggerEvent> fired = watched.fired();
    CHECK(fired.size() == 40);
    for (const TriggerEvent& event : fired) {
        CHECK(event.is_at_end);
    }
    CHECK(watched.mark() != 0);
}

TEST_CASE("FlowTriggers: several conditions, a rate, and a ring that is full", "[daemon][unit]") {
    SECTION("each fires for itself, and the record has the first file") {
        Watched watched({"packets >= 2", "octets >= 300"});
        for (int packet = 0; packet < 4; ++packet) {
            watched.packet(flow_packet(1), at_ms(packet));
        }
        const std::vector<TriggerEvent> fired = watched.fired();
        REQUIRE(fired.size() == 2);
        CHECK((fired[0].trigger == 0 && fired[1].trigger == 1));
        watched.harness.expire(at_ms(60'000));
        CHECK(watched.mark() == fired[0].file);
    }
    SECTION("a rate") {
        Watched watched({"packets >= 1"}, {2, 3600s});
        for (std::uint32_t flow = 0; flow < 5; ++flow) {
            watched.packet(flow_packet(flow), at_ms(flow));
        }
        CHECK(watched.fired().size() == 2);
        CHECK(read(watched.armed[0]->counters.fired) == 5);
        CHECK(read(watched.armed[0]->counters.by_rate) == 3);
    }
    SECTION("a ring that nobody reads") {
        Watched watched({"packets >= 1"});
        for (std::uint32_t flow = 0; flow < TriggerEvents::kRoom + 5; ++flow) {
            watched.packet(flow_packet(flow), at_ms(10 * flow));
        }
        CHECK(read(watched.armed[0]->counters.by_busy) == 5);
        CHECK(read(watched.armed[0]->counters.waiting) == TriggerEvents::kRoom);
        CHECK(watched.fired().size() == TriggerEvents::kRoom);
    }
}

TEST_CASE("FlowTriggers: a condition that the records do not fit is refused", "[daemon][unit]") {
    CHECK_THROWS_AS(Watched({"retransmissions > 3 and noSuchElement = 4"}), FilterError);
    CHECK_THROWS_AS(Watched({"sourceIPv4Address - packets = 4"}), FilterError);
    CHECK_THROWS_AS(Watched({"minimumTTL = never"}), FilterError);
    CHECK_NOTHROW(Watched({"retransmissions > 3"}));  // a measure that these records lack
}
