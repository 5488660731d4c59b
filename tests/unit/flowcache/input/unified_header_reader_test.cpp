// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/unified_header_reader.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <vector>

#include "flowcache/input/packet_times.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/unified_frames.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Frames in bursts as they are added; then silence.
class FrameBursts {
public:
    void add(std::vector<std::vector<std::byte>> frames) {
        Burst& burst = bursts_.emplace_back();
        for (std::vector<std::byte>& frame : frames) {
            const auto& kept = frames_.emplace_back(std::move(frame));
            burst.packets.push_back(view_of(kept));
        }
    }
    PacketView& last() { return bursts_.back().packets.back(); }

    [[nodiscard]] FrameBurst receive() noexcept {
        CHECK(released == received);
        ++received;
        return received > bursts_.size()
                   ? FrameBurst{}
                   : FrameBurst{.frames = bursts_[received - 1].packets, .now = now};
    }
    void release(const FrameBurst& /*burst*/) noexcept { ++released; }
    [[nodiscard]] bool exhausted() const noexcept { return received >= bursts_.size(); }

    std::size_t received = 0;
    std::size_t released = 0;
    Timestamp now{};

private:
    struct Burst {
        std::vector<PacketView> packets;
    };
    std::deque<std::vector<std::byte>> frames_;
    std::deque<Burst> bursts_;
};

/// `count` packets of the flows from number `first` on.
std::vector<ToldPacket> told(std::uint32_t first, std::uint32_t count) {
    std::vector<ToldPacket> packets;
    for (std::uint32_t flow = first; flow < first + count; ++flow) {
        packets.push_back({.fields = flow_packet(flow),
                           .time = at_ms(1000 * 1000 + flow),
                           .wire_bytes = 1000 + flow,
                           .ingress_interface = {flow % 7}});
    }
    return packets;
}

struct HeaderFixture {
    explicit HeaderFixture(WorkerShare share = {}) : path(source, share) {}

    /// One receive() with its release(); what it yielded is appended to `packets`.
    ParsedBurst step() {
        const ParsedBurst burst = path.read_burst(burst_of_no_use());
        for (const KeyedPacket& packet : burst.packets) {
            packets.push_back({.fields = *packet.fields,
                               .time = packet.packet->seen_at,
                               .wire_bytes = packet.packet->wire_bytes,
                               .ingress_interface = packet.packet->ingress_interface});
            clocks.push_back(packet.packet->clock);
        }
        path.release(burst.burst);
        return burst;
    }
    void drain() {
        while (!path.ended()) {
            step();
        }
    }
    std::uint64_t ignored(ParseStatus status) const {
        return path.counters().ignored[static_cast<std::size_t>(status)].read();
    }

    FrameBursts source;
    UnifiedHeaderReader<FrameBursts, PacketTimes> path;
    std::vector<ToldPacket> packets;
    std::vector<Timestamp> clocks;
};

void check_same(const std::vector<ToldPacket>& got, const std::vector<ToldPacket>& wanted) {
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        INFO(i);
        CHECK(got[i].fields == wanted[i].fields);
        CHECK(got[i].time == wanted[i].time);
        CHECK(got[i].wire_bytes == wanted[i].wire_bytes);
        CHECK(got[i].ingress_interface == wanted[i].ingress_interface);
    }
}

TEST_CASE(
    "UnifiedHeaderReader: a burst of frames is many bursts of packets, and kept until the "
    "last",
    "[flowcache][unit]") {
    HeaderFixture fixture;
    fixture.source.add({unified_frame(told(0, 50), 0), unified_frame(told(50, 50), 50),
                        unified_frame(told(100, 50), 100)});
    CHECK(fixture.step().packets.size() == kBurstPackets);
    CHECK(fixture.source.released == 0);
    CHECK(fixture.step().packets.size() == kBurstPackets);
    CHECK_FALSE(fixture.path.ended());
    CHECK(fixture.source.released == 0);
    const ParsedBurst last = fixture.step();
    CHECK(last.packets.size() == 150 - 2 * kBurstPackets);
    CHECK(last.received == 150 - 2 * kBurstPackets);
    CHECK(last.burst.now == at_ms(1000 * 1000 + 149));
    CHECK(fixture.source.released == 1);
    CHECK(fixture.path.ended());
    CHECK(fixture.path.counters().received.read() == 150);
    CHECK(fixture.path.counters().unified_headers_missing.read() == 0);
    check_same(fixture.packets, told(0, 150));
}

TEST_CASE(
    "UnifiedHeaderReader: a burst that ends with a full burst of packets is given back at once",
    "[flowcache][unit]") {
    HeaderFixture fixture;
    fixture.source.add({unified_frame(told(0, kBurstPackets))});
    CHECK(fixture.step().packets.size() == kBurstPackets);
    CHECK(fixture.source.released == 1);
    CHECK(fixture.path.ended());
    CHECK(fixture.step().received == 0);
    CHECK(fixture.source.released == 2);
}

TEST_CASE("UnifiedHeaderReader: versions may change within a stream, for each of its workers",
          "[flowcache][unit]") {
    const std::uint16_t workers = GENERATE(std::uint16_t{1}, std::uint16_t{2});
    std::vector<ToldPacket> with_segments = told(0, 20);
    for (ToldPacket& packet : with_segments) {
        packet.fields.protocol = ip_protocol::kTcp;
        packet.fields.has_tcp_segment = true;
        packet.fields.tcp = {.sequence = packet.wire_bytes, .payload_bytes = 7, .window = 3};
    }
    const std::vector<ToldPacket> without = told(20, 60);
    std::size_t packets = 0;
    for (std::uint16_t worker = 0; worker < workers; ++worker) {
        HeaderFixture fixture({.worker = worker, .workers = workers});
        fixture.source.add({unified_frame(with_segments, 0, 0, true), unified_frame(without, 20),
                            unified_frame(with_segments, 80, 0, true)});
        fixture.drain();
        packets += fixture.packets.size();
        for (const ToldPacket& packet : fixture.packets) {
            INFO("packet " << packet.wire_bytes - 1000);
            const bool is_tcp = packet.wire_bytes < 1020;
            CHECK(packet.fields.has_tcp_segment == is_tcp);
            CHECK((!is_tcp || packet.fields.tcp.sequence == packet.wire_bytes));
        }
    }
    CHECK(packets == 100);
}

TEST_CASE("UnifiedHeaderReader: refused frames are ignored by name and harm nothing",
          "[flowcache][unit]") {
    using namespace unified_header;
    HeaderFixture fixture;
    std::vector<std::byte> version = unified_frame(told(0, 3));
    version[frame_at::kVersion] = std::byte{9};
    std::vector<std::byte> length = unified_frame(told(0, 3));
    length.pop_back();
    fixture.source.add({unified_frame(told(0, 10), 0),
                        version,
                        length,
                        std::vector<std::byte>(60),
                        unified_frame(told(10, 10), 10),
                        {}});
    fixture.source.add({unified_frame(told(20, 10), 20), unified_frame(told(99, 1), 30)});
    fixture.source.last().link_type = LinkType::linux_sll;
    CHECK(fixture.step().received == 24);
    fixture.drain();
    CHECK(fixture.ignored(ParseStatus::bad_unified_header_version) == 1);
    CHECK(fixture.ignored(ParseStatus::bad_unified_header_length) == 1);
    CHECK(fixture.ignored(ParseStatus::not_unified_header) == 2);
    CHECK(fixture.ignored(ParseStatus::unknown_link_type) == 1);
    const std::size_t octets =
        version.size() + length.size() + 60 + unified_frame(told(99, 1)).size();
    CHECK(fixture.path.counters().ignored_octets.read() == octets);
    CHECK(fixture.path.counters().received.read() == 35);
    CHECK(fixture.path.counters().unified_headers_missing.read() == 0);
    check_same(fixture.packets, told(0, 30));
}

TEST_CASE("UnifiedHeaderReader: packets that the sender ignored are ignored by the same name",
          "[flowcache][unit]") {
    HeaderFixture fixture;
    std::vector<ToldPacket> packets = told(0, 100);
    packets[0].status = ParseStatus::arp;
    packets[1].status = ParseStatus::truncated_ipv4_header;
    packets[40].status = ParseStatus::arp;
    packets[50].status = ParseStatus::not_unified_header;  // no sender's status
    packets[51].status = static_cast<ParseStatus>(200);
    packets[99].status = ParseStatus::arp;
    packets[3].status = ParseStatus::not_sampled;
    packets[60].fields.cut_header = CutHeader::transport_header;
    fixture.source.add({unified_frame(packets)});
    const ParsedBurst first = fixture.step();
    CHECK(first.received == kBurstPackets);
    CHECK(first.burst.frames.size() == kBurstPackets);
    CHECK(first.packets.size() == kBurstPackets - 6);
    const PacketMask ignored = mask_of(0) | mask_of(1) | mask_of(40) | mask_of(50) | mask_of(51);
    CHECK(first.burst.ignored == ignored);
    CHECK(first.burst.not_sampled == mask_of(3));
    CHECK(first.burst.filtered == 0);
    CHECK(first.burst.metered == ~(ignored | mask_of(3)));
    CHECK(first.burst.index_of(*first.packets[0].packet) == 2);
    CHECK(first.burst.index_of(*first.packets[1].packet) == 4);
    CHECK(first.burst.frames[0].wire_bytes == packets[0].wire_bytes);
    CHECK(first.burst.details(2) == FrameDetails{});
    fixture.drain();
    CHECK(fixture.ignored(ParseStatus::not_sampled) == 1);
    CHECK(fixture.ignored(ParseStatus::arp) == 3);
    CHECK(fixture.ignored(ParseStatus::truncated_ipv4_header) == 1);
    CHECK(fixture.ignored(ParseStatus::unknown_parse_status) == 2);
    CHECK(fixture.ignored(ParseStatus::not_unified_header) == 0);
    const auto cut = static_cast<std::size_t>(CutHeader::transport_header);
    CHECK(fixture.path.counters().cut_headers[cut].read() == 1);
    CHECK(fixture.path.counters().received.read() == 100);
    std::uint64_t octets = 0;
    for (const ToldPacket& packet : packets) {
        octets += packet.status != ParseStatus::ok ? packet.wire_bytes : 0;
    }
    CHECK(fixture.path.counters().ignored_octets.read() == octets);
    std::erase_if(packets, [](const ToldPacket& p) { return p.status != ParseStatus::ok; });
    check_same(fixture.packets, packets);
}

TEST_CASE("UnifiedHeaderReader: every record moves the clock, also one of an ignored packet",
          "[flowcache][unit]") {
    HeaderFixture fixture;
    std::vector<ToldPacket> packets = told(0, 4);
    packets[0].time = Timestamp{10s};
    packets[1].time = Timestamp{30s};
    packets[1].status = ParseStatus::arp;
    packets[2].time = Timestamp{};  // bad
    packets[3].time = Timestamp{20s};
    fixture.source.add({unified_frame(packets)});
    CHECK(fixture.step().burst.now == Timestamp{30s});
    CHECK(fixture.path.counters().bad_timestamp.read() == 1);
    REQUIRE(fixture.packets.size() == 3);
    CHECK(fixture.packets[1].time == Timestamp{30s});
    CHECK(fixture.packets[2].time == Timestamp{20s});
    CHECK(fixture.clocks == std::vector<Timestamp>{Timestamp{10s}, Timestamp{30s}, Timestamp{30s}});
    CHECK(fixture.step().burst.now == Timestamp{30s});
}

TEST_CASE("UnifiedHeaderReader: workers share the packets of a stream, all have its clock",
          "[flowcache][unit]") {
    constexpr std::uint16_t kWorkers = 3;
    std::vector<ToldPacket> packets = told(0, 300);
    packets[7].status = ParseStatus::llc;
    packets[8].time = Timestamp{-1ns};
    std::vector<std::byte> bad = unified_frame(told(0, 1));
    bad[unified_header::frame_at::kVersion] = std::byte{0};
    std::size_t metered = 0;
    std::uint64_t bad_times = 0;
    std::uint64_t received = 0;
    for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
        HeaderFixture fixture({.worker = worker, .workers = kWorkers});
        fixture.source.add({unified_frame(packets, 5), bad, unified_frame(told(300, 1), 310)});
        ParsedBurst last{};
        while (!fixture.path.ended()) {
            last = fixture.step();
        }
        CHECK(last.burst.now == at_ms(1000 * 1000 + 300));
        for (std::size_t i = 0; i < fixture.packets.size(); ++i) {
            const ToldPacket& packet = fixture.packets[i];
            CHECK(WorkerShare{.worker = worker, .workers = kWorkers}.has(packet.fields));
            CHECK(fixture.clocks[i] == std::max(packet.time, fixture.clocks[i]));
        }
        CHECK(fixture.packets.size() > 50);
        const std::uint64_t once = worker == 0 ? 1 : 0;
        CHECK(fixture.ignored(ParseStatus::llc) == once);
        CHECK(fixture.ignored(ParseStatus::bad_unified_header_version) == once);
        CHECK(fixture.path.counters().unified_headers_missing.read() == 5 * once);
        metered += fixture.packets.size();
        bad_times += fixture.path.counters().bad_timestamp.read();
        received += fixture.path.counters().received.read();
    }
    CHECK(metered == 300);
    CHECK(bad_times == 1);
    CHECK(received == 302);
}

TEST_CASE("UnifiedHeaderReader: numbers of packets are those of the stream, for each worker",
          "[flowcache][unit]") {
    constexpr std::uint16_t kWorkers = 3;
    std::size_t metered = 0;
    for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
        HeaderFixture fixture({.worker = worker, .workers = kWorkers, .is_numbered = true});
        fixture.source.add({unified_frame(told(0, 200)), unified_frame(told(200, 101), 200)});
        std::uint64_t least = 0;
        while (!fixture.path.ended()) {
            const ParsedBurst parsed = fixture.step();
            REQUIRE(parsed.burst.numbers != nullptr);
            for (const KeyedPacket& packet : parsed.packets) {
                const std::uint64_t number =
                    parsed.burst.numbers[parsed.burst.index_of(*packet.packet)];
                CHECK(number == packet.packet->wire_bytes - 1000);
                CHECK(number >= least);
                CHECK(number < parsed.burst.next_number);
            }
            least = parsed.burst.next_number;
            metered += parsed.packets.size();
        }
        CHECK(least == 301);
    }
    CHECK(metered == 301);
    HeaderFixture without;
    without.source.add({unified_frame(told(0, 1))});
    CHECK(without.step().burst.numbers == nullptr);
}

TEST_CASE("UnifiedHeaderReader: records that never came are counted, of streams that are followed",
          "[flowcache][unit]") {
    HeaderFixture fixture;
    fixture.source.add({unified_frame(told(0, 10), 100, 1), unified_frame(told(0, 10), 500, 2),
                        unified_frame(told(0, 10), 115, 1), unified_frame(told(0, 10), 510, 2)});
    for (std::uint32_t stream = 3; stream <= UnifiedStreams::kMostStreams + 2; ++stream) {
        fixture.source.add({unified_frame(told(0, 3), 0, stream)});
    }
    fixture.drain();
    CHECK(fixture.path.counters().unified_headers_missing.read() == 5);
    CHECK(fixture.path.counters().unified_headers_untracked.read() == 6);
    CHECK(fixture.path.counters().received.read() == 40 + 3 * UnifiedStreams::kMostStreams);
}

/// A clock that records its calls.
struct WatchedClock {
    WatchedClock(std::vector<Timestamp>* begun_at, int* empty_polls)
        : begun(begun_at), empty(empty_polls) {}

    void begin_burst(Timestamp source) noexcept { begun->push_back(source); }
    void end_empty_burst() noexcept { ++*empty; }
    [[nodiscard]] PacketMask stamp(std::span<PacketView> packets) noexcept {
        return times.stamp(packets);
    }
    [[nodiscard]] Timestamp now() const noexcept { return times.now(); }

    std::vector<Timestamp>* begun;
    int* empty;
    PacketTimes times;
};

TEST_CASE("UnifiedHeaderReader: a clock that moves on is called at each poll of the source",
          "[flowcache][unit]") {
    FrameBursts source;
    std::vector<std::byte> refused = unified_frame(told(0, 1));
    refused[unified_header::frame_at::kRecordBytes] = std::byte{0};
    source.add({unified_frame(told(0, 100))});
    source.add({});
    source.add({refused});
    std::vector<Timestamp> begun;  // NOLINT(misc-const-correctness): the clock writes to both
    int empty = 0;                 // NOLINT(misc-const-correctness)
    UnifiedHeaderReader<FrameBursts, WatchedClock> path(source, {}, &begun, &empty);
    const auto poll = [&](Timestamp now) {
        source.now = now;
        path.release(path.read_burst(burst_of_no_use()).burst);
    };
    poll(Timestamp{5s});
    poll(Timestamp{6s});  // the rest of the first burst
    CHECK(begun == std::vector<Timestamp>{Timestamp{5s}});
    CHECK(empty == 0);
    poll(Timestamp{7s});
    CHECK(empty == 1);
    poll(Timestamp{8s});
    CHECK(empty == 2);
    CHECK(begun == std::vector<Timestamp>{Timestamp{5s}, Timestamp{7s}, Timestamp{8s}});
}

TEST_CASE("UnifiedHeaderReader: no receive allocates", "[flowcache][unit]") {
    HeaderFixture fixture;
    std::vector<ToldPacket> packets = told(0, 23);
    packets[5].status = ParseStatus::arp;
    for (std::uint32_t burst = 0; burst < 100; ++burst) {
        const std::uint64_t sequence = std::uint64_t{46} * burst;
        fixture.source.add({unified_frame(told(0, 23), sequence, burst % 70),
                            unified_frame(packets, sequence + 23, burst % 70),
                            {}});
    }
    const std::size_t before = allocations();
    while (!fixture.path.ended()) {
        fixture.path.release(fixture.path.read_burst(burst_of_no_use()).burst);
    }
    CHECK(allocations() == before);
    CHECK(fixture.path.counters().received.read() == 4700);
}

}  // namespace
}  // namespace tributary
