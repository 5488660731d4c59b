// SPDX-License-Identifier: Apache-2.0
#include "daemon/preparse/preparse_stream.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "flowcache/input/packet_times.hpp"
#include "flowcache/input/unified_header_reader.hpp"
#include "tests/support/packet_builder.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using namespace test;
using namespace unified_header;

/// Keeps the sent frames.
class KeptFrames final : public FrameSink {
public:
    explicit KeptFrames(std::size_t records)
        : room_(frame_at::kFirstRecord + records * kRecordBytes + 17) {
        addresses_.fill(std::byte{0xab});
    }

    [[nodiscard]] std::span<std::byte> begin() noexcept override {
        return has_buffers ? std::span(room_) : std::span<std::byte>{};
    }
    [[nodiscard]] FrameOutcome send(std::size_t octets, Timestamp now) noexcept override {
        if (outcome == FrameOutcome::sent) {
            frames.emplace_back(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(octets));
            times.push_back(now);
        }
        std::ranges::fill(room_, std::byte{0xee});
        return outcome;
    }
    [[nodiscard]] const MacAddresses& addresses() const noexcept override { return addresses_; }

    bool has_buffers = true;
    FrameOutcome outcome = FrameOutcome::sent;
    std::vector<std::vector<std::byte>> frames;
    std::vector<Timestamp> times;

private:
    std::vector<std::byte> room_;
    MacAddresses addresses_{};
};

struct Fixture {
    explicit Fixture(std::size_t records_per_frame, const FrameParserParts& parts = {})
        : sink(records_per_frame), stream(9, parts, sink, counters) {}

    [[nodiscard]] std::uint64_t packets(FrameOutcome outcome) const {
        return counters.packets[static_cast<std::size_t>(outcome)].read();
    }
    [[nodiscard]] std::uint64_t frames(FrameOutcome outcome) const {
        return counters.frames[static_cast<std::size_t>(outcome)].read();
    }

    KeptFrames sink;
    PreparseCounters counters;
    PreparseStream stream;
};

PacketView seen(const Frame& frame, Timestamp time) {
    PacketView view = frame.view();
    view.ingress_interface = {5};
    view.seen_at = view.clock = time;
    return view;
}

UnifiedFrame header_of(const std::vector<std::byte>& frame) {
    UnifiedFrame header;
    REQUIRE(read_unified_frame(frame, header) == ParseStatus::ok);
    CHECK(frame.size() == frame_at::kFirstRecord + header.records * kRecordBytes);
    return header;
}

const Frame& udp() {
    static const Frame frame = ethernet().vlan(5).ipv4().udp(1000, 53).payload(20).build();
    return frame;
}

TEST_CASE("PreparseStream: frames leave when they are full, or at a flush", "[daemon][unit]") {
    Fixture fixture(4);
    const std::vector<PacketView> packets(10, seen(udp(), Timestamp{7s}));
    fixture.stream.take(packets);
    REQUIRE(fixture.sink.frames.size() == 2);
    fixture.stream.flush();
    fixture.stream.flush();
    REQUIRE(fixture.sink.frames.size() == 3);
    std::uint64_t sequence = 0;
    for (const auto& frame : fixture.sink.frames) {
        const UnifiedFrame header = header_of(frame);
        CHECK(header.stream == 9);
        CHECK(header.sequence == sequence);
        CHECK(frame[11] == std::byte{0xab});
        sequence += header.records;
    }
    CHECK(sequence == 10);
    CHECK(fixture.counters.input.received.read() == 10);
    CHECK(fixture.packets(FrameOutcome::sent) == 10);
    CHECK(fixture.frames(FrameOutcome::sent) == 3);
}

TEST_CASE("PreparseStream: each packet has a record, also one that the parser ignores",
          "[daemon][unit]") {
    Fixture fixture(8);
    const Frame arp = ethernet().ethertype(0x0806).payload(46).build();
    const std::vector<PacketView> packets{seen(udp(), Timestamp{7s}), seen(arp, Timestamp{9s}),
                                          seen(udp(), Timestamp{8s})};
    fixture.stream.take(packets);
    fixture.stream.flush();
    REQUIRE(fixture.sink.frames.size() == 1);
    const std::byte* record = fixture.sink.frames[0].data() + frame_at::kFirstRecord;
    for (const PacketView& packet : packets) {
        PacketFields fields;
        PacketView view;
        const bool is_plain = read_unified_header(record, fields, view);
        CHECK(view.seen_at == packet.seen_at);
        CHECK(view.wire_bytes == packet.wire_bytes);
        CHECK(view.ingress_interface == packet.ingress_interface);
        CHECK(is_plain == (packet.captured.data() != arp.captured.data()));
        CHECK(fields.destination_port == L4Port{static_cast<std::uint16_t>(is_plain ? 53 : 0)});
        CHECK(status_of_unified_header(record) == (is_plain ? ParseStatus::ok : ParseStatus::arp));
        record += kRecordBytes;
    }
    CHECK(fixture.counters.input.ignored[static_cast<std::size_t>(ParseStatus::arp)].read() == 1);
    CHECK(fixture.packets(FrameOutcome::sent) == 3);
    CHECK(fixture.sink.times == std::vector<Timestamp>{Timestamp{9s}});  // the clock's
}

TEST_CASE("PreparseStream: with TCP segments its frames are of version 2", "[daemon][unit]") {
    FrameParserParts parts;
    parts.parse.tcp_segments = true;
    Fixture fixture(5, parts);
    const Frame tcp = ethernet().ipv4().tcp(1000, 443).payload(7).build();
    const Frame arp = ethernet().ethertype(0x0806).payload(46).build();
    fixture.stream.take(std::vector<PacketView>{
        seen(tcp, Timestamp{7s}), seen(udp(), Timestamp{8s}), seen(arp, Timestamp{9s})});
    fixture.stream.flush();
    UnifiedFrame header;
    const std::vector<std::byte>& frame = fixture.sink.frames.at(0);
    REQUIRE(read_unified_frame(frame, header) == ParseStatus::ok);
    CHECK(header.has_segments);
    CHECK(header.records == 3);
    CHECK(frame.size() == frame_at::kFirstRecord + std::size_t{3} * 80);
    PacketFields fields;
    PacketView view;
    const std::byte* record = frame.data() + frame_at::kFirstRecord;
    CHECK(read_unified_header(record, fields, view));
    read_unified_segment(record + kRecordBytes, fields);
    CHECK(fields.has_tcp_segment);
    CHECK(fields.tcp.payload_bytes == 7);
    CHECK(read_unified_header(record + 80, fields, view));
    read_unified_segment(record + 80 + kRecordBytes, fields);
    CHECK_FALSE(fields.has_tcp_segment);
    CHECK(status_of_unified_header(record + 160) == ParseStatus::arp);
}

TEST_CASE("PreparseStream: records tell times as they came, the frame has a good one",
          "[daemon][unit]") {
    Fixture fixture(8);
    const std::vector<PacketView> packets(2, seen(udp(), Timestamp{7s}));
    const std::vector<Timestamp> times{Timestamp{-5ns}, Timestamp{7s}};
    fixture.stream.take(packets, times);
    fixture.stream.flush();
    PacketFields fields;
    PacketView view;
    const std::byte* const record = fixture.sink.frames.at(0).data() + frame_at::kFirstRecord;
    CHECK(read_unified_header(record, fields, view));
    CHECK(view.seen_at == Timestamp{-5ns});
    CHECK(fixture.sink.times == std::vector<Timestamp>{Timestamp{7s}});
}

/// Lets every second packet pass.
class EverySecond final : public PacketSelector {
public:
    [[nodiscard]] PacketMask select(std::span<const PacketView> /*packets*/) noexcept override {
        return 0x5555'5555'5555'5555;
    }
};

TEST_CASE("PreparseStream: filtered packets have no record, those not sampled do",
          "[daemon][unit]") {
    EverySecond filter;
    Sampler sampler({.one_in = 4, .method = SamplingMethod::count}, 0);
    Fixture fixture(100, {.filter = &filter, .sampler = &sampler});
    const std::vector<PacketView> packets(16, seen(udp(), Timestamp{7s}));
    fixture.stream.take(packets);
    fixture.stream.flush();
    CHECK(fixture.counters.input.received.read() == 16);
    CHECK(fixture.counters.input.filtered.read() == 8);
    const auto& ignored = fixture.counters.input.ignored;
    CHECK(ignored[static_cast<std::size_t>(ParseStatus::not_sampled)].read() == 6);
    CHECK(fixture.packets(FrameOutcome::sent) == 8);
    const std::byte* record = fixture.sink.frames.at(0).data() + frame_at::kFirstRecord;
    for (int i = 0; i < 8; ++i, record += kRecordBytes) {
        CHECK(status_of_unified_header(record) ==
              (i % 4 == 0 ? ParseStatus::ok : ParseStatus::not_sampled));
    }
}

TEST_CASE("PreparseStream: what is lost is counted by its cause, and is missing at the receiver",
          "[daemon][unit]") {
    Fixture fixture(4);
    const std::vector<PacketView> packets(4, seen(udp(), Timestamp{7s}));
    fixture.stream.take(packets);
    fixture.sink.outcome = FrameOutcome::tx_full;
    fixture.stream.take(packets);
    fixture.sink.outcome = FrameOutcome::write_failed;
    fixture.stream.take(packets);
    fixture.sink.has_buffers = false;
    fixture.stream.take(std::span(packets).first(3));
    fixture.sink.has_buffers = true;
    fixture.sink.outcome = FrameOutcome::sent;
    fixture.stream.take(packets);
    CHECK(fixture.packets(FrameOutcome::sent) == 8);
    CHECK(fixture.packets(FrameOutcome::tx_full) == 4);
    CHECK(fixture.packets(FrameOutcome::write_failed) == 4);
    CHECK(fixture.packets(FrameOutcome::no_buffer) == 3);
    CHECK(fixture.frames(FrameOutcome::tx_full) == 1);
    CHECK(fixture.frames(FrameOutcome::no_buffer) == 0);
    CHECK(fixture.counters.input.received.read() == 19);
    REQUIRE(fixture.sink.frames.size() == 2);
    CHECK(header_of(fixture.sink.frames[1]).sequence == 15);
}

TEST_CASE("name_of: each outcome of a frame has one", "[daemon][unit]") {
    CHECK(name_of(FrameOutcome::sent) == "sent");
    CHECK(name_of(FrameOutcome::no_buffer) == "no_buffer");
    CHECK(name_of(FrameOutcome::tx_full) == "tx_full");
    CHECK(name_of(FrameOutcome::write_failed) == "write_failed");
}

}  // namespace
}  // namespace tributary
