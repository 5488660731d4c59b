// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/live_flows.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "daemon/pipeline/pipeline.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp kStart{1'700'000'000s};
constexpr std::uint64_t kPacketOctets = 100;  ///< of IP

// Information elements by IANA's numbers.
constexpr std::uint32_t kOctets = 1;
constexpr std::uint32_t kPackets = 2;
constexpr std::uint32_t kProtocol = 4;
constexpr std::uint32_t kSourceAddress = 8;
constexpr std::uint32_t kDestinationPort = 11;
constexpr std::uint32_t kEndReason = 136;
constexpr std::uint32_t kStartMilliseconds = 152;
constexpr std::uint32_t kEndMilliseconds = 153;

/// A queue's source that a test feeds: bursts of one packet for each of 64 flows, whose source
/// addresses are numbers one after the other.
class FedSource {
public:
    explicit FedSource(std::uint32_t first_flow) : first_flow_(first_flow) {
        for (std::size_t n = 0; n < kBurstPackets; ++n) {
            frames_.push_back(ethernet().ipv4().udp(1, 53).payload(72).build());
        }
    }
    /// Lets `bursts` more bursts come, each of the 64 flows after those of the last one, or of
    /// the first ones again, one second of packet time apart.
    void feed(std::size_t bursts) { fed_ += bursts; }
    void feed_first_flows_again() {
        again_ = true;
        ++fed_;
    }
    /// The queue's thread hangs from now on, until go_on().
    void hang() {
        hangs_ = true;
        REQUIRE(wait_until([this] { return is_hanging_.load(); }));
    }
    void go_on() {
        hangs_ = false;
        hangs_.notify_all();
    }

    [[nodiscard]] FrameBurst receive() noexcept {
        if (hangs_) {
            is_hanging_ = true;
            hangs_.wait(true);
        }
        if (taken_ == fed_) {
            return {{}, clock_};
        }
        ++taken_;
        clock_ += 1s;
        std::uint32_t flow = again_ ? first_flow_ : next_flow_ + first_flow_;
        next_flow_ += again_ ? 0 : std::uint32_t{kBurstPackets};
        for (std::size_t n = 0; n < kBurstPackets; ++n, ++flow) {
            for (unsigned byte = 0; byte < 4; ++byte) {
                frames_[n].captured[26 + byte] = static_cast<std::byte>(flow >> (24 - 8 * byte));
            }
            packets_[n] = frames_[n].view();
            packets_[n].seen_at = packets_[n].clock = clock_;
        }
        return {packets_, clock_};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}

private:
    const std::uint32_t first_flow_;
    std::atomic<std::size_t> fed_{0};
    std::atomic<bool> again_{false};
    std::atomic<bool> hangs_{false};
    std::atomic<bool> is_hanging_{false};
    // Of the queue's thread:
    std::size_t taken_ = 0;
    std::uint32_t next_flow_ = 0;
    Timestamp clock_ = kStart - 1s;
    std::vector<Frame> frames_;
    std::array<PacketView, kBurstPackets> packets_;
};

struct RefuseAll final : PacketSelector {
    [[nodiscard]] PacketMask select(std::span<const PacketView>) noexcept override { return 0; }
};

/// Flows by their number, the source address.
using Flows = std::map<std::uint64_t, DecodedRecord>;

/// A pipeline of two queues that runs, and exports into a file.
class Running {
public:
    explicit Running(std::uint32_t ring_slots = 1U << 15U) {
        std::vector<std::unique_ptr<QueueWorker>> queues;
        for (FrameReader<FedSource>* const path : {&first_path_, &second_path_}) {
            queues.push_back(make_queue_worker(
                *path,
                {.flows = {.max_flows = 16'384, .idle_timeout = 1000s, .active_timeout = 1000s},
                 .layout = {},
                 .ring_slots = ring_slots,
                 .numa_node = {},
                 .pages = PageUse::offline},
                FlowHasher(1)));
        }
        options.options_interval = 0s;
        options.collectors.resize(1);
        options.collectors[0].transport = TransportKind::file;
        options.collectors[0].path = file();
        pipeline_ = std::make_unique<Pipeline>(
            Pipeline::Parts{.queues = std::move(queues),
                            .export_options = options,
                            .metering = {},
                            .wall_clock = [] { return Timestamp{1'800'000'000s}; },
                            .on_collector_event = {}});
        pipeline_->start({.inputs = {{.name = "a", .cpu = {}}, {.name = "b", .cpu = {}}},
                          .export_thread = {.name = "e", .cpu = {}},
                          .idle_waits = {sleeping(100us), sleeping(100us)}},
                         [] {});
        pipeline_->wait_until_polled();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
        first.go_on();
        second.go_on();
    }

    [[nodiscard]] Pipeline& pipeline() { return *pipeline_; }
    [[nodiscard]] QueueLedger ledger(std::size_t queue) const {
        Ledger ledger;
        ledger.queues.resize(2);
        pipeline_->read(ledger);
        return ledger.queues[queue];
    }
    [[nodiscard]] bool has_received(std::size_t queue, std::uint64_t packets) const {
        return wait_until([&] { return ledger(queue).received == packets; });
    }
    /// A listing, decoded; each of its messages is as RFC 7011 wants it.
    [[nodiscard]] Flows listing() {
        IpfixDecoder decoder;
        Flows flows;
        write_live_flows(*pipeline_, options, RecordLayout{}, [&](MessageView octets) {
            ++messages;
            longest = std::max(longest, octets.size());
            add(flows, decoder.decode(octets));
            return true;
        });
        templates = decoder.templates().size();
        return flows;
    }
    /// The flows in the file, after the end of the pipeline.
    [[nodiscard]] Flows exported() {
        pipeline_->stop();
        Flows flows;
        for (const DecodedMessage& message : decode_file(file())) {
            add(flows, message);
        }
        return flows;
    }

    FedSource first{0x0A00'0000};
    FedSource second{0x0B00'0000};
    ExportOptions options;
    std::size_t messages = 0;   ///< of the listings so far
    std::size_t longest = 0;    ///< octets of a message
    std::size_t templates = 0;  ///< that the last listing brought

private:
    static void add(Flows& flows, const DecodedMessage& message) {
        for (const DecodedRecord& record : message.records) {
            if (!record.is_option) {
                REQUIRE(flows.emplace(record.number(kSourceAddress), record).second);
            }
        }
    }
    [[nodiscard]] std::string file() const { return (directory_ / "flows.ipfix").string(); }

    TemporaryDirectory directory_;
    FrameReader<FedSource> first_path_{first, {}};
    FrameReader<FedSource> second_path_{second, {}};
    std::unique_ptr<Pipeline> pipeline_;  // last: its threads use the others
};

/// Whether each of these flows is there, with as many packets, and its times in seconds since
/// kStart.
void check_flows(
    const Flows& flows, std::uint64_t first, std::uint64_t count, std::uint64_t packets,
    const std::function<std::pair<std::uint64_t, std::uint64_t>(std::uint64_t)>& times) {
    constexpr std::uint64_t kUdp = 17;
    for (std::uint64_t number = first; number < first + count; ++number) {
        const auto found = flows.find(number);
        REQUIRE(found != flows.end());
        const DecodedRecord& flow = found->second;
        const auto [start, end] = times(number - first);
        REQUIRE(flow.number(kPackets) == packets);
        REQUIRE(flow.number(kOctets) == packets * kPacketOctets);
        REQUIRE(flow.number(kProtocol) == kUdp);
        REQUIRE(flow.number(kDestinationPort) == 53);
        REQUIRE(flow.number(kStartMilliseconds) == 1'700'000'000'000 + 1000 * start);
        REQUIRE(flow.number(kEndMilliseconds) == 1'700'000'000'000 + 1000 * end);
    }
}

/// Start and end of flows of which each burst has the next 64.
std::pair<std::uint64_t, std::uint64_t> burst_of(std::uint64_t number) {
    return {number / kBurstPackets, number / kBurstPackets};
}

}  // namespace

TEST_CASE("write_live_flows: a listing holds each flow of each queue once, with its values of now",
          "[daemon][unit][threads]") {
    Running running;
    running.first.feed(50);
    running.second.feed(1);
    REQUIRE(running.has_received(0, 50 * 64));
    REQUIRE(running.has_received(1, 64));
    const Flows flows = running.listing();
    CHECK(flows.size() == 51 * 64);
    check_flows(flows, 0x0A00'0000, 50 * 64, 1, burst_of);
    check_flows(flows, 0x0B00'0000, 64, 1, burst_of);
    CHECK(running.messages > 10);  // 3264 records of some 60 octets
    CHECK(running.longest <= 16'384);

    running.second.feed_first_flows_again();
    REQUIRE(running.has_received(1, 128));
    const Flows later = running.listing();
    CHECK(later.size() == 51 * 64);
    check_flows(later, 0x0B00'0000, 64, 2, [](std::uint64_t) { return std::pair{0U, 1U}; });
}

TEST_CASE("write_live_flows: a listing changes nothing", "[daemon][unit][threads]") {
    Running running;
    running.first.feed(2);
    REQUIRE(running.has_received(0, 128));
    static_cast<void>(running.listing());
    static_cast<void>(running.listing());
    CHECK(running.ledger(0).in_cache() == 128);
    CHECK(running.ledger(0).metered == RecordTally{128, 128, 128 * kPacketOctets});
    CHECK(running.ledger(0).exported == RecordTally{});
    const Flows exported = running.exported();
    CHECK(exported.size() == 128);
    check_flows(exported, 0x0A00'0000, 128, 1, burst_of);
}

TEST_CASE("write_live_flows: without a flow the templates are written", "[daemon][unit][threads]") {
    Running running;
    CHECK(running.listing().empty());
    CHECK(running.messages >= 1);
    CHECK(running.templates > 0);
}

TEST_CASE("write_live_flows: no message comes after the one that was refused",
          "[daemon][unit][threads]") {
    Running running;
    running.first.feed(50);
    REQUIRE(running.has_received(0, 50 * 64));
    const auto most = GENERATE(1, 2, 5);
    int messages = 0;
    write_live_flows(running.pipeline(), running.options, RecordLayout{},
                     [&](MessageView) { return ++messages < most; });
    CHECK(messages == most);
}

TEST_CASE("end_live_flows: all flows end, and later packets begin new ones",
          "[daemon][unit][threads]") {
    constexpr std::uint64_t kForcedEnd = 4;
    const auto ring_slots = GENERATE(8U, 1U << 15U);  // in a small ring records wait for room
    Running running(ring_slots);
    running.first.feed(20);
    running.second.feed(1);
    REQUIRE(running.has_received(0, 20 * 64));
    REQUIRE(running.has_received(1, 64));
    end_live_flows(running.pipeline());
    CHECK(running.ledger(0).ended_by_reason().at("forced") == 20 * 64);
    CHECK(running.ledger(1).ended_by_reason().at("forced") == 64);
    CHECK(running.ledger(0).in_cache() == 0);
    CHECK(running.listing().empty());
    end_live_flows(running.pipeline());  // there is none to end
    CHECK(running.ledger(0).ended_by_reason().at("forced") == 20 * 64);

    running.second.feed(1);
    REQUIRE(running.has_received(1, 128));
    CHECK(running.listing().size() == 64);
    const Flows exported = running.exported();
    CHECK(exported.size() == 22 * 64);
    check_flows(exported, 0x0A00'0000, 20 * 64, 1, burst_of);
    check_flows(exported, 0x0B00'0000, 128, 1, burst_of);
    for (const auto& [number, flow] : exported) {
        REQUIRE(flow.number(kEndReason) == kForcedEnd);
    }
}

TEST_CASE("set_live_filter: the filter of some queues holds from the next burst on",
          "[daemon][unit][threads]") {
    RefuseAll none;
    Running running;
    running.first.feed(1);
    REQUIRE(running.has_received(0, 64));
    set_live_filter(running.pipeline(), {.first = 0, .count = 1},
                    {.wanted = &none, .former = nullptr});
    running.first.feed(1);
    running.second.feed(1);
    REQUIRE(running.has_received(0, 128));
    REQUIRE(running.has_received(1, 64));
    CHECK(running.ledger(0).filtered == 64);
    CHECK(running.ledger(1).filtered == 0);
    CHECK(running.listing().size() == 128);  // those of before go on
    set_live_filter(running.pipeline(), {.first = 0, .count = 1},
                    {.wanted = nullptr, .former = &none});
    running.first.feed(1);
    REQUIRE(running.has_received(0, 192));
    CHECK(running.ledger(0).filtered == 64);
    CHECK(running.listing().size() == 192);
}

TEST_CASE("set_live_timeouts: flows that run end by the new timeouts", "[daemon][unit][threads]") {
    Running running;
    running.first.feed(1);
    running.second.feed(1);
    REQUIRE(running.has_received(0, 64));
    REQUIRE(running.has_received(1, 64));
    const FlowCacheOptions former{.idle_timeout = 1000s, .active_timeout = 1000s};
    const FlowCacheOptions wanted{.idle_timeout = 5s, .active_timeout = 1000s};
    set_live_timeouts(running.pipeline(), {.wanted = wanted, .former = former});
    running.first.feed(7);  // seven seconds of packet time
    CHECK(wait_until([&] { return running.ledger(0).ended_by_reason().at("idle") >= 64; }));
    CHECK(running.ledger(1).ended_by_reason().at("idle") == 0);  // no time has passed there
}

TEST_CASE("live flows: a queue that hangs is named, and the other one keeps its filter",
          "[daemon][unit][threads]") {
    RefuseAll none;
    Running running;
    running.first.feed(1);
    REQUIRE(running.has_received(0, 64));
    running.second.hang();
    const auto discard = [](MessageView) { return true; };
    SECTION("a listing") {
        CHECK_THROWS_AS(
            write_live_flows(running.pipeline(), running.options, RecordLayout{}, discard),
            ThreadHangs);
        running.second.go_on();
        CHECK(running.listing().size() == 64);
    }
    SECTION("a table, which is free when the listing gives up") {
        struct NoFlows final : TableFlows {
            [[nodiscard]] bool end_some(CacheScan&, std::size_t, Timestamp) noexcept override {
                return true;
            }
            [[nodiscard]] bool copy_some(CacheScan&, std::size_t, RecordCopies&) noexcept override {
                return true;
            }
            void set_timeouts(const Timeouts&) noexcept override {}
        };
        LiveTable table{.table = {.name = "one", .layout = {}}, .queues = {}};
        table.queues = {std::make_shared<NoFlows>(), std::make_shared<NoFlows>()};
        CHECK_THROWS_AS(write_live_flows(running.pipeline(), running.options, table, discard),
                        ThreadHangs);
        CHECK(table.queues[0].use_count() == 1);
        CHECK(table.queues[1].use_count() == 1);
        running.second.go_on();
    }
    SECTION("a filter") {
        CHECK_THROWS_WITH(set_live_filter(running.pipeline(), {.first = 0, .count = 2},
                                          {.wanted = &none, .former = nullptr}),
                          "thread b does not answer");
        running.first.feed(1);
        REQUIRE(running.has_received(0, 128));
        CHECK(running.ledger(0).filtered == 0);  // a has the former one
        running.second.go_on();
        running.second.feed(1);
        REQUIRE(running.has_received(1, 64));
        CHECK(running.ledger(1).filtered == 0);  // b does not do later what was given up
    }
}
