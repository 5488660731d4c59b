// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/parsed_frame_reader.hpp"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "flowcache/input/frame_reader.hpp"
#include "parsers/parse_packet.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr ParseOptions kTrimmed{.keep_cut_headers = true, .most_bytes = 64};

/// Frames of all kinds, in bursts of a few.
std::vector<PacketView> views_of(const std::vector<Frame>& frames) {
    std::vector<PacketView> views;
    for (const Frame& frame : frames) {
        views.push_back(frame.view());
        views.back().seen_at = views.back().clock =
            kFirstTimestamp + std::chrono::seconds(views.size());
    }
    return views;
}

class Bursts {
public:
    explicit Bursts(std::vector<PacketView> views) : views_(std::move(views)) {}
    [[nodiscard]] FrameBurst receive() noexcept {
        const std::size_t count = std::min<std::size_t>(7, views_.size() - given_);
        const auto burst = std::span<const PacketView>(views_).subspan(given_, count);
        given_ += count;
        return {.frames = burst, .now = count > 0 ? burst.back().clock : kFirstTimestamp};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}
    [[nodiscard]] bool exhausted() const noexcept { return given_ == views_.size(); }

private:
    std::vector<PacketView> views_;
    std::size_t given_ = 0;
};

/// The same, parsed before.
class ParsedBursts {
public:
    ParsedBursts(std::vector<PacketView> views, const ParseOptions& options)
        : bursts_(std::move(views)), options_(options) {}
    [[nodiscard]] ParsedFrames receive() noexcept {
        const FrameBurst burst = bursts_.receive();
        std::size_t count = 0;
        for (const PacketView& packet : burst.frames) {
            ParsedFrame& frame = frames_[count];
            frame.packet = packet;
            frame.status = parse_packet(packet, options_, frame.fields);
            places_[count++] = &frame;
        }
        return {.frames = std::span(places_).first(count), .now = burst.now};
    }
    void release() noexcept { ++released; }
    [[nodiscard]] bool exhausted() const noexcept { return bursts_.exhausted(); }

    int released = 0;

private:
    Bursts bursts_;
    ParseOptions options_;
    std::array<ParsedFrame, kBurstPackets> frames_;
    std::array<ParsedFrame*, kBurstPackets> places_{};
};

/// Lets each third packet of a burst be.
class ThirdsFilter final : public PacketSelector {
public:
    using PacketSelector::PacketSelector;
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override {
        for (const PacketView& packet : packets) {
            octets += packet.captured.size();
        }
        return ~PacketMask{0b100100};
    }
    std::size_t octets = 0;  ///< of all that it has seen
};

std::vector<Frame> frames_of_all_kinds() {
    std::vector<Frame> frames;
    for (std::uint16_t port = 0; port < 10; ++port) {
        frames.push_back(ethernet().ipv4().udp(port, 53).payload(8).build());
        frames.push_back(ethernet().ipv6().tcp(port, 443, 0x12).build());
        frames.push_back(ethernet().ethertype(0x0806).payload(46).build());
        frames.push_back(ethernet()
                             .ipv4({.more_fragments = true, .identification = port})
                             .udp(7, port)
                             .payload(8)
                             .build());
        frames.push_back(
            ethernet()
                .ipv4({.fragment_offset = 2, .protocol = ip_protocol::kUdp, .identification = port})
                .payload(8)
                .build());
        frames.push_back(ethernet().ipv6().extension(60, 64).udp(1, 2).build());
        frames.push_back(ethernet().ipv4().udp(1, 2).payload(8).build().cut(20));
    }
    return frames;
}

struct Outcome {
    std::vector<PacketFields> fields;
    std::vector<Timestamp> times;
    std::vector<std::uint64_t> counters;
    std::vector<PacketMask> masks;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome drain(PacketReader& path) {
    Outcome outcome;
    while (!path.ended()) {
        const ParsedBurst burst = path.read_burst(burst_of_no_use());
        for (const KeyedPacket& packet : burst.packets) {
            outcome.fields.push_back(*packet.fields);
            outcome.times.push_back(packet.packet->seen_at);
            outcome.times.push_back(packet.packet->clock);
        }
        outcome.times.push_back(burst.burst.now);
        const FrameBurst& all = burst.burst;
        for (const PacketMask mask : {all.filtered, all.not_sampled, all.ignored, all.metered}) {
            outcome.masks.push_back(mask);
        }
        CHECK((all.filtered | all.not_sampled | all.ignored | all.metered) ==
              mask_of_all(all.frames));
        CHECK(std::popcount(all.filtered) + std::popcount(all.not_sampled) +
                  std::popcount(all.ignored) + std::popcount(all.metered) ==
              static_cast<int>(all.frames.size()));
        PacketMask metered = 0;
        for (const KeyedPacket& packet : burst.packets) {
            metered |= mask_of(all.index_of(*packet.packet));
        }
        CHECK(metered == all.metered);
        path.release(burst.burst);
    }
    const InputCounters& counters = path.counters();
    for (const Counter* counter :
         {&counters.received, &counters.filtered, &counters.filter_not_ready,
          &counters.ignored_octets, &counters.fragments.first, &counters.fragments.later,
          &counters.fragments.without_first, &counters.fragments.forgotten}) {
        outcome.counters.push_back(counter->read());
    }
    for (const Counter& counter : counters.ignored) {
        outcome.counters.push_back(counter.read());
    }
    for (const Counter& counter : counters.cut_headers) {
        outcome.counters.push_back(counter.read());
    }
    return outcome;
}

/// What frames pass through, each path with its own.
struct Stages {
    ThirdsFilter filter;
    Sampler sampler{{.one_in = 2}, 0};
    FragmentTable fragments{FlowHasher(1), std::chrono::seconds(0)};
    FrameParserParts parts(const ParseOptions& options, bool samples) {
        return {.parse = options,
                .filter = samples ? &filter : nullptr,
                .sampler = samples ? &sampler : nullptr,
                .fragments = &fragments};
    }
};

}  // namespace

TEST_CASE("ParsedFrameReader: packets and counters are those of a FrameReader",
          "[flowcache][unit]") {
    const std::vector<Frame> frames = frames_of_all_kinds();
    for (const ParseOptions& options : {ParseOptions{}, kTrimmed}) {
        for (const bool samples : {false, true}) {
            Stages stages;
            Bursts source(views_of(frames));
            FrameReader<Bursts> reader(source, stages.parts(options, samples));
            const Outcome expected = drain(reader);
            Stages others;
            ParsedBursts parsed(views_of(frames), options);
            ParsedFrameReader<ParsedBursts> path(parsed, others.parts(options, samples));
            const Outcome outcome = drain(path);
            CHECK(outcome.fields.size() > 10);
            CHECK(outcome.counters[0] == frames.size());
            CHECK(outcome.counters[4] > 0);  // first fragments
            CHECK(outcome == expected);
            CHECK(others.filter.octets == stages.filter.octets);
            CHECK(parsed.released == 10);
        }
    }
}

TEST_CASE("ParsedFrameReader: another filter counts from the next burst on", "[flowcache][unit]") {
    const std::vector<Frame> frames = frames_of_all_kinds();
    ThirdsFilter waiting(PacketSelector::Readiness::not_ready);
    ThirdsFilter filter;
    ParsedBursts parsed(views_of(frames), {});
    ParsedFrameReader<ParsedBursts> path(parsed, {.filter = &waiting});
    ParsedBurst parsed_burst = path.read_burst(burst_of_no_use());
    CHECK(parsed_burst.packets.empty());
    CHECK(parsed_burst.burst.ignored == 0b111'1111);
    CHECK(parsed_burst.burst.filtered == 0);
    CHECK(path.counters().filter_not_ready.read() == 7);
    path.release(parsed_burst.burst);
    path.set_filter(&filter);
    parsed_burst = path.read_burst(burst_of_no_use());
    CHECK(parsed_burst.received == 7);
    CHECK(path.counters().filtered.read() == 2);
    path.release(parsed_burst.burst);
    path.set_filter(nullptr);
    CHECK(path.read_burst(burst_of_no_use()).received == 7);
    CHECK(path.counters().filtered.read() == 2);
    CHECK(path.counters().received.read() == 21);
}
