// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_source.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "flowcache/input/worker_share.hpp"
#include "tests/unit/daemon/capture/capture_builder.hpp"
#include "tests/unit/daemon/capture/nameless_file.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr InterfaceIndex kIngress{7};

struct Seen {
    std::string text;
    Timestamp seen_at;
    Timestamp clock;
    friend bool operator==(const Seen&, const Seen&) = default;
};

struct Outcome {
    std::vector<Seen> packets;
    Timestamp now{};
};

Outcome drain(CaptureSource& source) {
    Outcome outcome;
    do {
        const FrameBurst burst = source.receive();
        for (const PacketView& packet : burst.frames) {
            outcome.packets.push_back(
                {std::string{text_of(packet.captured)}, packet.seen_at, packet.clock});
        }
        outcome.now = burst.now;
        source.release(burst);
    } while (!source.exhausted());
    return outcome;
}

std::vector<std::byte> pcap_of(std::initializer_list<Record> records) {
    CaptureBytes file = pcap_header(std::endian::little);
    for (const Record& record : records) {
        add(file, record);
    }
    return file.bytes();
}

TEST_CASE("CaptureSource: one file, packets carry the file's facts and the run's interface",
          "[daemon][unit]") {
    const NamelessFile file{pcap_of({{.seconds = 5, .data = "abc", .wire_bytes = 99}})};
    CaptureFiles files{{file.path()}, 1};
    CaptureCounters counters;
    CaptureSource source{files, counters, kIngress};
    CHECK_FALSE(source.exhausted());
    const FrameBurst burst = source.receive();
    REQUIRE(burst.frames.size() == 1);
    CHECK(text_of(burst.frames[0].captured) == "abc");
    CHECK(burst.frames[0].wire_bytes == 99);
    CHECK(burst.frames[0].link_type == LinkType::ethernet);
    CHECK(burst.frames[0].ingress_interface == kIngress);
    CHECK(burst.frames[0].seen_at == Timestamp{5s});
    CHECK(burst.now == Timestamp{5s});
    CHECK(source.exhausted());
    CHECK(counters.bad_timestamp.read() == 0);
    CHECK(files.failure() == std::nullopt);
    CHECK(files.cut_files().empty());
}

TEST_CASE("CaptureSource: bad times, become the last good one of the stream and are counted",
          "[daemon][unit]") {
    const NamelessFile first{pcap_of({{.seconds = 0, .fraction = 999'999, .data = "a"},
                                      {.seconds = 1, .data = "b"},
                                      {.seconds = 0xFFFF'FFFF, .data = "c"},
                                      {.seconds = 0xFFFF'FFFE, .fraction = 1, .data = "d"},
                                      {.seconds = 9, .data = "e"}})};
    const NamelessFile second{
        pcap_of({{.seconds = 0, .data = "f"}, {.seconds = 0xFFFF'FFFE, .data = "g"}})};
    CaptureFiles files{{first.path(), second.path()}, 1};
    CaptureCounters counters;
    CaptureSource source{files, counters, kIngress};
    const Outcome outcome = drain(source);
    const Timestamp last{0xFFFF'FFFEs};
    CHECK(outcome.packets == std::vector<Seen>{{"a", Timestamp{1s}, Timestamp{1s}},
                                               {"b", Timestamp{1s}, Timestamp{1s}},
                                               {"c", Timestamp{1s}, Timestamp{1s}},
                                               {"d", Timestamp{1s}, Timestamp{1s}},
                                               {"e", Timestamp{9s}, Timestamp{9s}},
                                               {"f", Timestamp{9s}, Timestamp{9s}},
                                               {"g", last, last}});
    CHECK(counters.bad_timestamp.read() == 4);
}

TEST_CASE("CaptureSource: two files out of order, the clock is the highest time so far",
          "[daemon][unit]") {
    const NamelessFile first{pcap_of({{.seconds = 10, .data = "a"}, {.seconds = 30, .data = "b"}})};
    const NamelessFile second{
        pcap_of({{.seconds = 20, .data = "c"}, {.seconds = 40, .data = "d"}})};
    CaptureFiles files{{first.path(), second.path()}, 1};
    CaptureCounters counters;
    CaptureSource source{files, counters, kIngress};
    const Outcome outcome = drain(source);
    CHECK(outcome.packets == std::vector<Seen>{{"a", Timestamp{10s}, Timestamp{10s}},
                                               {"b", Timestamp{30s}, Timestamp{30s}},
                                               {"c", Timestamp{20s}, Timestamp{30s}},
                                               {"d", Timestamp{40s}, Timestamp{40s}}});
    CHECK(outcome.now == Timestamp{40s});
}

TEST_CASE("CaptureSource: frames of many packets, go to every worker and are counted by none",
          "[daemon][unit]") {
    const NamelessFile file{pcap_of({{.seconds = 0, .data = "a"},
                                     {.seconds = 7, .data = "b"},
                                     {.seconds = 0xFFFF'FFFF, .data = "c"}})};
    CaptureFiles files{{file.path()}, 2};
    for (const std::uint16_t worker : std::initializer_list<std::uint16_t>{0, 1}) {
        CaptureCounters counters;
        CaptureSource source{files, counters, worker};
        const Outcome outcome = drain(source);
        CHECK(outcome.packets == std::vector<Seen>{{"a", Timestamp{1s}, Timestamp{1s}},
                                                   {"b", Timestamp{7s}, Timestamp{7s}},
                                                   {"c", Timestamp{7s}, Timestamp{7s}}});
        CHECK(counters.bad_timestamp.read() == 0);
    }
}

TEST_CASE("worker_of: hosts one apart, spread over all workers", "[daemon][unit]") {
    constexpr std::uint16_t kWorkers = 16;
    std::array<int, kWorkers> packets{};
    for (unsigned i = 0; i < 256; ++i) {  // every pair has the XOR 1
        const IpAddress even{std::byte{10}, std::byte{0}, static_cast<std::byte>(i), std::byte{0}};
        IpAddress odd = even;
        odd[3] = std::byte{1};
        const std::uint16_t worker = worker_of(words_of(even, 4), words_of(odd, 4), kWorkers);
        REQUIRE(worker < kWorkers);
        CHECK(worker == worker_of(words_of(odd, 4), words_of(even, 4), kWorkers));
        odd[15] = static_cast<std::byte>(i + 1);  // not an address of the packet
        CHECK(worker == worker_of(words_of(odd, 4), words_of(even, 4), kWorkers));
        ++packets.at(worker);
    }
    CHECK(*std::ranges::min_element(packets) >= 4);
    CHECK(worker_of({}, {}, 1) == 0);
}

TEST_CASE("CaptureSource: more frames than a burst holds, come in order in full bursts",
          "[daemon][unit]") {
    CaptureBytes capture = pcap_header(std::endian::little);
    for (std::uint32_t i = 1; i <= kBurstPackets + 1; ++i) {
        add(capture, {.seconds = i, .data = "x"});
    }
    const NamelessFile file{capture.bytes()};
    CaptureFiles files{{file.path()}, 1};
    CaptureCounters counters;
    CaptureSource source{files, counters, kIngress};
    CHECK(source.receive().frames.size() == kBurstPackets);
    const FrameBurst rest = source.receive();
    REQUIRE(rest.frames.size() == 1);
    CHECK(rest.frames[0].seen_at == Timestamp{std::chrono::seconds{kBurstPackets + 1}});
}

TEST_CASE("CaptureSource: a pipe, is read once for all workers", "[daemon][unit]") {
    const NamelessFile file{pcap_of({{.seconds = 5, .data = "abc"}}), NamelessFile::Kind::pipe};
    CaptureFiles files{{file.path()}, 2};
    CaptureCounters counters;
    CaptureSource first{files, counters, 1};
    CHECK(drain(first).now == Timestamp{5s});
    CaptureSource second{files, counters, 0};
    CHECK(drain(second).packets.size() == 1);
    CHECK(files.failure() == std::nullopt);
}

TEST_CASE("CaptureSource: a file that is no capture or missing, ends the stream with its name",
          "[daemon][unit]") {
    const NamelessFile good{pcap_of({{.seconds = 5, .data = "abc"}})};
    const NamelessFile empty{{}};
    const NamelessFile text{CaptureBytes{std::endian::little}.text(std::string(100, 'x')).bytes()};
    const auto expect = [&good](const std::string& path, const std::string& reason) {
        CaptureFiles files{{good.path(), path, good.path()}, 2};
        for (const std::uint16_t worker : std::initializer_list<std::uint16_t>{0, 1}) {
            CaptureCounters counters;
            CaptureSource source{files, counters, worker};
            const Outcome outcome = drain(source);
            CHECK(outcome.packets.size() == 1);
            CHECK(outcome.now == Timestamp{5s});
            CHECK(source.exhausted());
            CHECK(source.receive().frames.empty());
        }
        CHECK(files.failure() == CaptureFailure{path, reason, 1});
    };
    expect("/nonexistent/x.pcap", "No such file or directory");
    expect("/", "Is a directory");
    expect(empty.path(), "too short for a capture file");
    expect(text.path(), "not a pcap or pcapng file");
}

TEST_CASE("CaptureSource: a file that begins before others end, is noted", "[daemon][unit]") {
    const NamelessFile early{pcap_of({{.seconds = 5, .data = "a"}, {.seconds = 9, .data = "b"}})};
    const NamelessFile next{pcap_of({{.seconds = 9, .data = "c"}, {.seconds = 6, .data = "d"}})};
    CaptureBytes late{std::endian::little};
    add_section(late);
    add_interface(late, 1);
    add_enhanced(late, {.interface = 0, .ticks = 7'250'000, .data = "e"});
    const NamelessFile overlapping{late.bytes()};
    const NamelessFile bad_time{pcap_of({{.seconds = 0, .data = "f"}})};
    const NamelessFile empty{pcap_of({})};
    CaptureFiles files{
        {early.path(), next.path(), overlapping.path(), bad_time.path(), empty.path()}, 1};
    CaptureCounters counters;
    CaptureSource source{files, counters, kIngress};
    drain(source);
    CHECK(files.overlaps() == std::vector<CaptureOverlap>{{overlapping.path(), 1750ms}});
}

TEST_CASE("CaptureSource: frames that hold many packets, have no order in time", "[daemon][unit]") {
    const NamelessFile early{pcap_of({{.seconds = 5, .data = "a"}})};
    const NamelessFile earlier{pcap_of({{.seconds = 1, .data = "b"}})};
    CaptureFiles files{{early.path(), earlier.path()}, 1};
    CaptureCounters counters;
    CaptureSource source{files, counters, 0};
    drain(source);
    CHECK(files.overlaps().empty());
}

TEST_CASE("CaptureSource: file-level notes, are counted once by worker 0", "[daemon][unit]") {
    CaptureBytes capture{std::endian::little};
    add_section(capture);
    add_interface(capture, 1);
    add_enhanced(capture, {.interface = 3, .ticks = 1'000'000, .data = "stray"});
    add_enhanced(capture, {.interface = 0, .ticks = 2'000'000, .data = "frame"});
    capture.u32(6);  // the start of another block
    const NamelessFile file{capture.bytes()};
    const NamelessFile whole{pcap_of({{.seconds = 5, .data = "abc"}})};
    CaptureFiles files{{file.path(), whole.path()}, 2};
    std::array<CaptureCounters, 2> counters;
    CaptureSource second{files, counters[1], 1};
    drain(second);
    CHECK(counters[1].unknown_interface.read() == 0);
    CHECK(files.cut_files().empty());
    CaptureSource first{files, counters[0], 0};
    CHECK(drain(first).packets.size() == 2);
    CHECK(counters[0].unknown_interface.read() == 1);
    CHECK(counters[0].unknown_interface_octets.read() == 5);
    CHECK(files.cut_files() == std::vector<CutCapture>{{file.path(), ""}});
}

}  // namespace
}  // namespace tributary
