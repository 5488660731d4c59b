// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/frame_reader.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/cache_harness.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// Gives out one burst, then nothing.
class OneBurst {
public:
    explicit OneBurst(std::vector<Frame> frames) : frames_(std::move(frames)) {
        for (const Frame& frame : frames_) {
            packets.push_back(frame.view());
            packets.back().seen_at = packets.back().clock = kFirstTimestamp;
        }
    }
    [[nodiscard]] FrameBurst receive() noexcept {
        const std::span<const PacketView> burst = given_ ? std::span<const PacketView>{} : packets;
        given_ = true;
        return {.frames = burst, .now = kFirstTimestamp};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}

    std::vector<PacketView> packets;

private:
    std::vector<Frame> frames_;
    bool given_ = false;
};

/// Lets through what a mask says.
class MaskFilter final : public PacketSelector {
public:
    explicit MaskFilter(PacketMask mask) : mask_(mask) {}
    [[nodiscard]] PacketMask select(std::span<const PacketView> /*packets*/) noexcept override {
        return mask_;
    }

private:
    PacketMask mask_;
};

Frame udp(std::uint16_t port) { return ethernet().ipv4().udp(port, 53).payload(8).build(); }

std::uint64_t ignored(const PacketReader& path, ParseStatus status) {
    return path.counters().ignored[static_cast<std::size_t>(status)].read();
}

}  // namespace

TEST_CASE("FrameReader: filter, then sampler, then parser; every packet is counted once",
          "[flowcache][unit]") {
    std::vector<Frame> frames;
    for (std::uint16_t port = 0; port < 10; ++port) {
        frames.push_back(udp(port));
    }
    frames[8] = ethernet().ethertype(0x0806).payload(46).build();
    std::uint64_t ignored_octets = frames[8].view().wire_bytes;
    for (const std::size_t not_sampled : {3U, 4U, 6U, 7U, 9U}) {
        ignored_octets += frames[not_sampled].view().wire_bytes;
    }
    OneBurst source(std::move(frames));
    MaskFilter filter(~PacketMask{0b110});  // packets 1 and 2 do not pass
    Sampler sampler({.one_in = 3}, 0);      // of 0 3 4 5 6 7 8 9 it takes 0 5 8
    FrameReader<OneBurst> path(source, {.filter = &filter, .sampler = &sampler});
    const ParsedBurst burst = path.read_burst(burst_of_no_use());
    CHECK(burst.received == 10);
    CHECK(burst.burst.frames.data() == source.packets.data());
    CHECK(burst.burst.frames.size() == 10);
    CHECK(burst.burst.filtered == 0b00'0000'0110);
    CHECK(burst.burst.not_sampled == 0b10'1101'1000);
    CHECK(burst.burst.ignored == 0b01'0000'0000);
    CHECK(burst.burst.metered == 0b00'0010'0001);
    CHECK(burst.burst.kept == 0);
    CHECK(burst.burst.forwarded == 0);
    REQUIRE(burst.packets.size() == 2);
    CHECK(burst.packets[0].fields->source_port == L4Port{0});
    CHECK(burst.packets[1].fields->source_port == L4Port{5});
    CHECK(burst.packets[1].packet == &source.packets[5]);
    CHECK(burst.burst.index_of(*burst.packets[1].packet) == 5);
    CHECK(path.counters().received.read() == 10);
    CHECK(path.counters().filtered.read() == 2);
    CHECK(ignored(path, ParseStatus::not_sampled) == 5);
    CHECK(path.counters().ignored_octets.read() == ignored_octets);
    CHECK(ignored(path, ParseStatus::arp) == 1);
    CHECK(path.read_burst(burst_of_no_use()).received == 0);
}

TEST_CASE("FrameReader: later fragments get their ports where a table is given",
          "[flowcache][unit]") {
    const std::vector<Frame> frames{
        ethernet()
            .ipv4({.more_fragments = true, .identification = 9})
            .udp(7, 53)
            .payload(8)
            .build(),
        ethernet()
            .ipv4({.fragment_offset = 2, .protocol = ip_protocol::kUdp, .identification = 9})
            .payload(8)
            .build(),
        ethernet().ipv6().fragment(0, true).udp(8, 54).payload(8).build(),
        ethernet().ipv6().fragment(2, false).payload(8).build(), udp(1)};
    {
        OneBurst source(frames);
        FragmentTable table(FlowHasher(1), std::chrono::seconds(0));
        FrameReader<OneBurst> path(source, {.fragments = &table});
        const ParsedBurst burst = path.read_burst(burst_of_no_use());
        REQUIRE(burst.packets.size() == 5);
        CHECK(burst.packets[1].fields->source_port == L4Port{7});
        CHECK(burst.packets[1].fields->destination_port == L4Port{53});
        CHECK(burst.packets[3].fields->source_port == L4Port{8});
        CHECK(burst.packets[3].fields->destination_port == L4Port{54});
        CHECK(path.counters().fragments.first.read() == 2);
        CHECK(path.counters().fragments.later.read() == 2);
        CHECK(path.counters().fragments.without_first.read() == 0);
    }
    OneBurst source(frames);
    FrameReader<OneBurst> path(source, {});
    const ParsedBurst burst = path.read_burst(burst_of_no_use());
    REQUIRE(burst.packets.size() == 5);
    CHECK(burst.packets[1].fields->destination_port == L4Port{0});
    CHECK(burst.packets[3].fields->destination_port == L4Port{0});
    CHECK(path.counters().fragments.first.read() == 0);
}

TEST_CASE("FrameReader: while the filter is not ready packets are ignored, and not as filtered",
          "[flowcache][unit]") {
    class NotReady final : public PacketSelector {
    public:
        NotReady() : PacketSelector(Readiness::not_ready) {}
        [[nodiscard]] PacketMask select(std::span<const PacketView> /*packets*/) noexcept override {
            return ~PacketMask{0};  // is not asked
        }
    };
    const std::vector<Frame> frames{udp(1), udp(2), udp(3)};
    NotReady waiting;
    MaskFilter second(0b010);
    OneBurst source(frames);
    FrameReader<OneBurst> path(source, {.filter = &waiting});
    const ParsedBurst before = path.read_burst(burst_of_no_use());
    CHECK(before.packets.empty());
    CHECK(before.burst.ignored == 0b111);
    CHECK(before.burst.filtered == 0);
    CHECK(before.burst.metered == 0);
    CHECK(path.counters().received.read() == 3);
    CHECK(path.counters().filter_not_ready.read() == 3);
    CHECK(path.counters().ignored_octets.read() == 3 * frames[0].view().wire_bytes);
    CHECK(path.counters().filtered.read() == 0);

    OneBurst next(frames);
    FrameReader<OneBurst> ready(next, {.filter = &waiting});
    ready.set_filter(&second);
    CHECK(ready.read_burst(burst_of_no_use()).packets.size() == 1);
    CHECK(ready.counters().filter_not_ready.read() == 0);
    CHECK(ready.counters().filtered.read() == 2);
}

TEST_CASE("FrameReader: in a whole burst too, each frame has one mark", "[flowcache][unit]") {
    std::vector<Frame> frames;
    for (std::uint16_t port = 0; port < kBurstPackets; ++port) {
        frames.push_back(udp(port));
    }
    frames[0] = frames[63] = ethernet().ethertype(0x0806).payload(46).build();
    const PacketMask arp = mask_of(0) | mask_of(63);
    OneBurst source(frames);
    FrameReader<OneBurst> path(source, {});
    const ParsedBurst all = path.read_burst(burst_of_no_use());
    CHECK(all.burst.ignored == arp);
    CHECK(all.burst.metered == ~arp);
    CHECK(all.packets.size() == 62);
    CHECK(all.packets[61].fields->source_port == L4Port{62});

    OneBurst again(frames);
    MaskFilter filter(0xFFFF'0000'FFFF'0001);
    FrameReader<OneBurst> filtering(again, {.filter = &filter});
    const ParsedBurst some = filtering.read_burst(burst_of_no_use());
    CHECK(some.burst.filtered == ~PacketMask{0xFFFF'0000'FFFF'0001});
    CHECK(some.burst.ignored == arp);
    CHECK(some.burst.metered == 0x7FFF'0000'FFFF'0000);
    REQUIRE(some.packets.size() == 31);
    CHECK(some.packets[0].fields->source_port == L4Port{16});
    CHECK(some.packets[16].fields->source_port == L4Port{48});
}

TEST_CASE("FrameReader: of a source without an owner nothing more is known, and nothing is kept",
          "[flowcache][unit]") {
    OneBurst source({udp(1)});
    FrameReader<OneBurst> path(source, {});
    ParsedBurst parsed = path.read_burst(burst_of_no_use());
    CHECK(parsed.burst.details(0) == FrameDetails{});
    CHECK(parsed.burst.segment(0, 0).data() == source.packets[0].captured.data());
    CHECK_FALSE(parsed.burst.keep(0));
    CHECK(parsed.burst.kept == 0);
    CHECK(path.kept() == nullptr);
}
