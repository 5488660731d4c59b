// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/recorder_stage.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "daemon/pipeline/queue_worker.hpp"
#include "daemon/recorder/ring_reader.hpp"
#include "flowcache/cache_room.hpp"
#include "flowcache/input/copied_packets.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp kStageStart{1'700'000'000s};
constexpr FlowCacheOptions kFlows{.max_flows = 64, .idle_timeout = 10s, .active_timeout = 60s};

/// Gives out bursts of frames, a second after each other, and then empty ones.
class Bursts {
public:
    void add(const std::vector<Frame>& frames) {
        Burst& burst = bursts_.emplace_back();
        burst.frames = frames;
        burst.now = kStageStart + std::chrono::seconds(bursts_.size());
        for (const Frame& frame : burst.frames) {
            PacketView& view = burst.views.emplace_back(frame.view());
            view.ingress_interface = InterfaceIndex{7};
            view.seen_at = view.clock = burst.now;
        }
    }
    [[nodiscard]] std::size_t count() const noexcept { return bursts_.size(); }
    [[nodiscard]] FrameBurst receive() noexcept {
        if (next_ == bursts_.size()) {
            return {.frames = {}, .now = kStageStart};
        }
        const Burst& burst = bursts_[next_++];
        return {.frames = burst.views, .now = burst.now};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}

private:
    struct Burst {
        std::vector<Frame> frames;
        std::vector<PacketView> views;
        Timestamp now{};
    };
    std::deque<Burst> bursts_;  // do not move: views point into frames
    std::size_t next_ = 0;
};

/// Frames of UDP to port 53 pass.
class OnlyDns final : public PacketSelector {
public:
    explicit OnlyDns(Readiness readiness = Readiness::ready) : PacketSelector(readiness) {}
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override {
        PacketMask passed = 0;
        for (std::size_t place = 0; place < packets.size(); ++place) {
            const auto& frame = packets[place].captured;
            const bool is_dns = frame.size() > 37 && frame[37] == std::byte{53};
            passed |= PacketMask{is_dns} << place;
        }
        return passed;
    }
};

struct Kept {
    std::vector<std::byte> octets;
    KeptMetadata metadata;
};

/// A queue with a recorder's stage.
class Recording {
public:
    explicit Recording(const RecorderRules& rules, const FilterSlot* filter = nullptr,
                       FlowDirection direction = FlowDirection::uniflow,
                       PacketSelector* input_filter = nullptr)
        : queue(PacketRing::rounded(0), entries_for(kFlows), rules, {}, PageUse::offline),
          reader_(source, {.filter = input_filter}) {
        std::vector<std::unique_ptr<BurstStage>> stages;
        stages.push_back(std::make_unique<RecorderStage>(queue, rules, filter, FlowHasher(3)));
        QueueParts parts{.flows = kFlows,
                         .layout = {},
                         .numa_node = {},
                         .pages = PageUse::offline,
                         .name = "uplink/0"};
        parts.flows.direction = direction;
        parts.layout = layout_of_flows({}, parts.flows);
        worker_ = make_queue_worker(reader_, parts, FlowHasher(1), StageList(std::move(stages)));
    }
    std::vector<Kept> run() {
        for (std::size_t burst = 0; burst < source.count(); ++burst) {
            worker_->step();
        }
        std::vector<Kept> kept;
        RingReader reader(queue.ring, kStageStart);
        for (auto read = reader.read(); !read.empty(); read = reader.read()) {
            for (const RecordedPacket& packet : read) {
                kept.push_back({.octets = {packet.octets.begin(), packet.octets.end()},
                                .metadata = packet.metadata});
            }
        }
        const RecorderCounters& counters = queue.counters;
        CHECK(counters.kept_whole.read() + counters.kept_cut.read() == kept.size());
        CHECK(counters.seen.read() == kept.size() + counters.left_by_input.read() +
                                          counters.filtered.read() +
                                          counters.filter_not_ready.read());
        return kept;
    }

    Bursts source;
    RecorderQueue queue;

private:
    FrameReader<Bursts> reader_;
    std::unique_ptr<QueueWorker> worker_;
};

std::vector<std::size_t> lengths_of(const std::vector<Kept>& kept) {
    std::vector<std::size_t> lengths;
    std::ranges::transform(kept, std::back_inserter(lengths),
                           [](const Kept& packet) { return packet.octets.size(); });
    return lengths;
}

Frame udp(std::size_t payload, std::uint16_t from = 1000, std::uint16_t to = 53) {
    return ethernet().ipv4().udp(from, to).payload(payload).build();
}
Frame udp_back(std::size_t payload) {
    return ethernet()
        .ipv4({.source = "198.51.100.2", .destination = "192.0.2.1"})
        .udp(53, 1000)
        .payload(payload)
        .build();
}
Frame arp() { return ethernet().ethertype(0x0806).payload(200).build(); }

constexpr std::size_t kHeaders = 14 + 20 + 8;

}  // namespace

TEST_CASE("RecorderStage: keeps all frames as they came, also those in no flow", "[daemon][unit]") {
    Recording recording({});
    const std::vector<Frame> frames{udp(100), arp(), udp(0), udp(1400)};
    recording.source.add(frames);
    recording.source.add({udp(9)});
    const std::vector<Kept> kept = recording.run();
    REQUIRE(kept.size() == 5);
    for (std::size_t place = 0; place < frames.size(); ++place) {
        CHECK(kept[place].octets == frames[place].captured);
        CHECK(kept[place].metadata.seen_at == kStageStart + 1s);
        CHECK(kept[place].metadata.wire_bytes == frames[place].wire_bytes);
        CHECK(kept[place].metadata.ingress_interface == InterfaceIndex{7});
        CHECK(kept[place].metadata.link_type == LinkType::ethernet);
    }
    CHECK(kept[0].metadata.flow_hash != 0);
    CHECK(kept[0].metadata.flow_hash == kept[4].metadata.flow_hash);
    CHECK(kept[1].metadata.flow_hash == 0);
    CHECK(kept[4].metadata.seen_at == kStageStart + 2s);
    CHECK(recording.queue.counters.kept_whole.read() == 5);
}

TEST_CASE("RecorderStage: snap cuts frames, and keeps their lengths on the wire",
          "[daemon][unit]") {
    SECTION("to a number of octets") {
        Recording recording({.snap = SnapMode::octets, .snap_octets = 60, .parse = {}});
        recording.source.add({udp(100), udp(1), arp()});
        const std::vector<Kept> kept = recording.run();
        CHECK(lengths_of(kept) == std::vector<std::size_t>{60, kHeaders + 1, 60});
        CHECK(kept[0].metadata.wire_bytes == kHeaders + 100);
        CHECK(recording.queue.counters.kept_cut.read() == 2);
    }
    SECTION("to headers") {
        Recording recording({.snap = SnapMode::headers, .parse = {}});
        recording.source.add(
            {udp(100), ethernet().vlan(5).ipv6().tcp(1, 2).payload(50).build(), arp(),
             ethernet().ipv4({.fragment_offset = 3, .protocol = 17}).payload(70).build()});
        // A later fragment has an IP header alone.
        CHECK(lengths_of(recording.run()) ==
              std::vector<std::size_t>{kHeaders, 14 + 4 + 40 + 20, 128, 14 + 20});
    }
}

TEST_CASE("RecorderStage: a frame that is cut before it comes is kept whole", "[daemon][unit]") {
    Recording recording({});
    recording.source.add({udp(1000).cut(90)});
    const std::vector<Kept> kept = recording.run();
    CHECK(lengths_of(kept) == std::vector<std::size_t>{90});
    CHECK(kept[0].metadata.wire_bytes == kHeaders + 1000);
    CHECK(recording.queue.counters.kept_whole.read() == 1);
}

TEST_CASE("RecorderStage: the cut-off is of each direction of a flow, and to the octet",
          "[daemon][unit]") {
    const FlowDirection direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    Recording recording({.cutoff = 250, .parse = {}}, nullptr, direction);
    recording.source.add({udp(100), udp_back(200), udp(100), udp(100), udp_back(100), udp(100)});
    recording.source.add({udp(0), udp_back(7), udp(3, 2000), arp()});
    const std::vector<Kept> kept = recording.run();
    CHECK(lengths_of(kept) ==
          std::vector<std::size_t>{kHeaders + 100, kHeaders + 200, kHeaders + 100, kHeaders + 50,
                                   kHeaders + 50, kHeaders, kHeaders, kHeaders, kHeaders + 3, 214});
    CHECK(std::ranges::all_of(kept, [](const Kept& packet) {
        return packet.metadata.wire_bytes >= packet.octets.size();
    }));
    CHECK(kept[5].metadata.wire_bytes == kHeaders + 100);
    CHECK(recording.queue.counters.kept_cut.read() == 4);
}

TEST_CASE("RecorderStage: a record's end does not begin the cut-off anew, a flow's does",
          "[daemon][unit]") {
    Recording recording({.cutoff = 100, .parse = {}});
    const std::size_t seconds = 75;  // the active timeout is 60 s, the idle one 10 s
    for (std::size_t second = 0; second < seconds; ++second) {
        recording.source.add({udp(80)});
    }
    for (std::size_t second = 0; second < 20; ++second) {
        recording.source.add({udp(1, 7, 8)});  // another one: 20 s of silence
    }
    recording.source.add({udp(80)});
    std::vector<std::size_t> lengths = lengths_of(recording.run());
    CHECK(lengths.front() == kHeaders + 80);
    CHECK(lengths[1] == kHeaders + 20);
    CHECK(std::count(lengths.begin(), lengths.begin() + seconds, kHeaders) == seconds - 2);
    CHECK(lengths.back() == kHeaders + 80);
}

TEST_CASE("RecorderStage: its filter, and that of the input, leave frames out by cause",
          "[daemon][unit]") {
    OnlyDns dns;
    OnlyDns not_ready(PacketSelector::Readiness::not_ready);
    const std::vector<Frame> frames{udp(5), udp(5, 1, 54), arp(), udp(6)};
    SECTION("its own") {
        const FilterSlot slot(&dns);
        Recording recording({}, &slot);
        recording.source.add(frames);
        CHECK(recording.run().size() == 2);
        CHECK(recording.queue.counters.filtered.read() == 2);
    }
    SECTION("its own, which is not there yet") {
        FilterSlot slot(GENERATE(true, false) ? nullptr : &not_ready);
        Recording recording({}, &slot);
        recording.source.add(frames);
        CHECK(recording.run().empty());
        CHECK(recording.queue.counters.filter_not_ready.read() == 4);
    }
    SECTION("the input's") {
        Recording recording({}, nullptr, FlowDirection::uniflow, &dns);
        recording.source.add(frames);
        CHECK(recording.run().size() == 2);
        CHECK(recording.queue.counters.left_by_input.read() == 2);
    }
    SECTION("the input's, but all frames are wanted") {
        Recording recording({.all_frames = true, .parse = {}}, nullptr, FlowDirection::uniflow,
                            &dns);
        recording.source.add(frames);
        const std::vector<Kept> kept = recording.run();
        CHECK(kept.size() == 4);
        CHECK(kept[1].metadata.flow_hash == 0);  // it was not metered
    }
}

TEST_CASE("RecorderStage: frames of several segments are put together", "[daemon][unit]") {
    static constexpr std::size_t kSegment = 600;
    class Segments final : public FrameOwner {
    public:
        explicit Segments(std::vector<std::byte> octets) : octets_(std::move(octets)) {}
        [[nodiscard]] PacketView view() const {
            return {.captured = std::span(octets_).first(kSegment),
                    .wire_bytes = static_cast<std::uint32_t>(octets_.size())};
        }
        [[nodiscard]] FrameDetails details(const FrameBurst& /*burst*/,
                                           std::size_t /*index*/) const noexcept override {
            return {.segments =
                        static_cast<std::uint16_t>((octets_.size() + kSegment - 1) / kSegment)};
        }
        [[nodiscard]] std::span<const std::byte> segment(
            const FrameBurst& /*burst*/, std::size_t /*index*/,
            std::size_t number) const noexcept override {
            const std::size_t from = number * kSegment;
            return std::span(octets_).subspan(from, std::min(kSegment, octets_.size() - from));
        }
        [[nodiscard]] KeptPacket keep(FrameBurst& /*burst*/,
                                      std::size_t /*index*/) noexcept override {
            return {};
        }

    private:
        std::vector<std::byte> octets_;
    };
    const auto [octets, kept_octets] =
        GENERATE(std::pair<std::size_t, std::size_t>{601, 601},
                 std::pair<std::size_t, std::size_t>{9000, 9000},
                 std::pair<std::size_t, std::size_t>{16'000, 16'000},
                 std::pair<std::size_t, std::size_t>{70'000, PacketRing::kMostOctets});
    std::vector<std::byte> frame(octets);
    for (std::size_t place = 0; place < octets; ++place) {
        frame[place] = static_cast<std::byte>(place * 31 >> 3U);
    }
    Segments segments(frame);
    const std::vector<PacketView> views{segments.view()};
    RecorderQueue queue(PacketRing::rounded(0), 0, {}, {}, PageUse::offline);
    RecorderStage stage(queue, {}, nullptr, FlowHasher(3));
    FrameBurst burst{.frames = views, .now = kStageStart, .owner = &segments};
    stage.on_burst(burst, {});
    RingReader reader(queue.ring, Timestamp{});
    const auto read = reader.read();
    REQUIRE(read.size() == 1);
    CHECK(std::ranges::equal(read[0].octets, std::span(frame).first(kept_octets)));
    CHECK(read[0].metadata.wire_bytes == octets);
    CHECK(queue.counters.kept_cut.read() == (kept_octets < octets ? 1 : 0));
}
