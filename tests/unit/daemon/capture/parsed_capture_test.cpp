// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/parsed_capture.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parsers/parse_packet.hpp"
#include "tests/unit/daemon/capture/capture_builder.hpp"
#include "tests/unit/daemon/capture/compressed.hpp"
#include "tests/unit/daemon/capture/nameless_file.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr InterfaceIndex kParsedIngress{7};
constexpr CaptureStreamSizes kSmallPieces{.piece = 256, .longest_item = 4096};
constexpr const char* kNoFlow = "not a packet";

/// An Ethernet frame with an IPv4 header and a number as its payload, from host `from` to `to`.
std::string ip_frame(std::uint32_t from, std::uint32_t to, std::uint32_t number) {
    CaptureBytes frame{std::endian::big};
    frame.u64(0).u32(0).u16(0x0800).u16(0x4500).u16(24).u32(0).u8(64).u8(253).u16(0);
    frame.u32(from).u32(to).u32(number);
    return std::string{text_of(frame.bytes())};
}

struct SeenFrame {
    std::string text;
    Timestamp seen_at;
    Timestamp clock;
    ParseStatus status{};
    IpAddress source{};
    friend bool operator==(const SeenFrame&, const SeenFrame&) = default;
};
SeenFrame seen(const ParsedFrame& frame) {
    const bool is_ok = frame.status == ParseStatus::ok;
    return {std::string{text_of(frame.packet.captured)}, frame.packet.seen_at, frame.packet.clock,
            frame.status, is_ok ? frame.fields.source : IpAddress{}};
}

/// What each worker is to see, by a walk and a parse of its own.
std::vector<std::vector<SeenFrame>> expected_of(const std::vector<std::string>& paths,
                                                std::uint16_t workers,
                                                const CaptureStreamSizes& sizes = {}) {
    std::vector<std::vector<SeenFrame>> expected(workers);
    CaptureFiles files{paths, 1, sizes};
    CaptureCounters counters;
    CaptureSource source{files, counters, kParsedIngress};
    while (!source.exhausted()) {
        for (const PacketView& packet : source.receive().frames) {
            ParsedFrame frame;
            frame.packet = packet;
            frame.status = parse_packet(packet, {}, frame.fields);
            const bool is_ok = frame.status == ParseStatus::ok;
            expected[is_ok ? worker_of(frame.fields, workers) : 0].push_back(seen(frame));
        }
    }
    return expected;
}

struct ParsedOutcome {
    std::vector<SeenFrame> frames;
    Timestamp now{};
};

/// Takes a burst, and copies what is in it before it is given back.
void take_burst(ParsedCaptureShare& share, ParsedOutcome& outcome) {
    const ParsedFrames burst = share.receive();
    for (const ParsedFrame* frame : burst.frames) {
        outcome.frames.push_back(seen(*frame));
    }
    outcome.now = burst.now;
    share.release();
}
ParsedOutcome drain(ParsedCaptureShare& share) {
    ParsedOutcome outcome;
    while (!share.exhausted()) {
        take_burst(share, outcome);
    }
    return outcome;
}

/// Frames of many hosts, and now and then one in no flow.
Bytes many_frames(std::uint32_t count) {
    CaptureBytes capture = pcap_header(std::endian::little);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::string frame =
            i % 97 == 5 ? kNoFlow : ip_frame(0x0A00'0000 + i % 61, 0x0A01'0000, i);
        add(capture, {.seconds = i % 89 == 3 ? 1 + i / 2 : 1 + i, .data = frame});
    }
    return capture.bytes();
}

/// Several threads take all that there is, worker 1 slowly.
void check_threads(const std::vector<std::string>& paths, const CaptureStreamSizes& sizes) {
    constexpr std::uint16_t kWorkers = 3;
    const auto expected = expected_of(paths, kWorkers, sizes);
    CaptureFiles files{paths, 1, sizes};
    ParsedCapture capture{files, kWorkers, kParsedIngress, {}};
    std::array<CaptureCounters, kWorkers> counters;
    std::array<ParsedOutcome, kWorkers> outcomes;
    {
        std::vector<std::jthread> threads;
        for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
            threads.emplace_back([&, worker] {
                ParsedCaptureShare share{capture, counters[worker], worker};
                while (!share.exhausted()) {
                    const ParsedFrames burst = share.receive();
                    for (ParsedFrame* frame : burst.frames) {
                        outcomes[worker].frames.push_back(seen(*frame));
                        frame->fields.source_port = L4Port{1};  // as a FragmentTable does
                    }
                    outcomes[worker].now = burst.now;
                    if (worker == 1) {
                        std::this_thread::yield();
                    }
                    share.release();
                }
            });
        }
    }
    for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
        CHECK(outcomes[worker].frames.size() > 100);
        CHECK(outcomes[worker].frames == expected[worker]);
        CHECK(outcomes[worker].now == outcomes[0].now);
    }
    CHECK(files.failure() == std::nullopt);
    CHECK(files.cut_files().empty());
}

TEST_CASE("ParsedCapture: each frame is one worker's, both directions meet, in order",
          "[daemon][unit]") {
    constexpr std::uint32_t kHosts = 300;
    constexpr std::uint16_t kWorkers = 4;
    CaptureBytes capture = pcap_header(std::endian::little);
    for (std::uint32_t i = 0; i < kHosts; ++i) {
        add(capture, {.seconds = 1 + i, .data = ip_frame(0x0A00'0000 + i, 0x0A01'0000, i)});
        add(capture, {.seconds = 1 + i, .data = ip_frame(0x0A01'0000, 0x0A00'0000 + i, i)});
    }
    add(capture, {.seconds = 5000, .data = kNoFlow});
    const NamelessFile file{capture.bytes()};
    const auto expected = expected_of({file.path()}, kWorkers);
    CaptureFiles files{{file.path()}, 1};
    ParsedCapture parsed{files, kWorkers, kParsedIngress, {}};
    std::size_t frames = 0;
    for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
        CaptureCounters counters;
        ParsedCaptureShare share{parsed, counters, worker};
        const ParsedOutcome outcome = drain(share);
        CHECK(outcome.frames == expected[worker]);
        CHECK(outcome.frames.size() > kHosts / 4);  // a quarter of 601 frames is 150
        CHECK(outcome.now == Timestamp{5000s});
        CHECK(counters.bad_timestamp.read() == 0);
        CHECK(share.receive().frames.empty());
        frames += outcome.frames.size();
    }
    CHECK(frames == 2 * kHosts + 1);
}

TEST_CASE("ParsedCapture: numbers of frames are those of the capture, for each worker",
          "[daemon][unit]") {
    constexpr std::uint16_t kWorkers = 3;
    constexpr std::uint32_t kFrames = 5000;
    const NamelessFile file{many_frames(kFrames)};
    const bool is_numbered = GENERATE(true, false);
    CaptureFiles files{{file.path()}, 1};
    ParsedCapture parsed{files, kWorkers, kParsedIngress, {}, is_numbered};
    std::array<CaptureCounters, kWorkers> counters;
    std::array<std::vector<std::uint64_t>, kWorkers> numbers;
    std::array<bool, kWorkers> are_good{};
    {
        std::vector<std::jthread> threads;
        for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
            threads.emplace_back([&, worker] {
                ParsedCaptureShare share{parsed, counters[worker], worker};
                bool is_good = true;
                std::uint64_t least = 0;
                while (!share.exhausted()) {
                    const ParsedFrames burst = share.receive();
                    is_good = is_good && (burst.numbers != nullptr) == is_numbered;
                    for (std::size_t i = 0; is_numbered && i < burst.frames.size(); ++i) {
                        const std::uint64_t number = burst.numbers[i];
                        numbers[worker].push_back(number);
                        is_good = is_good && number >= least && number < burst.next_number;
                        // A frame that is a packet ends with its number.
                        const auto octets = burst.frames[i]->packet.captured.last(4);
                        is_good =
                            is_good && (number % 97 == 5 ||
                                        std::to_integer<std::uint64_t>(octets[3]) +
                                                256 * std::to_integer<std::uint64_t>(octets[2]) ==
                                            number);
                    }
                    least = burst.next_number;
                    share.release();
                }
                are_good[worker] = is_good && least == (is_numbered ? kFrames : 0);
            });
        }
    }
    CHECK(are_good == std::array<bool, kWorkers>{true, true, true});
    std::size_t count = 0;
    for (const std::vector<std::uint64_t>& own : numbers) {
        count += own.size();
    }
    CHECK(count == (is_numbered ? kFrames : 0));
}

TEST_CASE("ParsedCapture: workers at once, see the same of a mapped file, a pipe and a stream",
          "[daemon][unit]") {
    const Bytes first = many_frames(20'000);
    const Bytes second = many_frames(3'000);
    const NamelessFile mapped{first};
    const NamelessFile also_mapped{second};
    check_threads({mapped.path(), also_mapped.path()}, {});
    const NamelessFile packed{by_gzip(first)};
    const NamelessFile also_packed{by_zstd(second)};
    check_threads({packed.path(), mapped.path(), also_packed.path()}, kSmallPieces);
    check_threads({packed.path()}, {});
}

TEST_CASE("ParsedCapture: the octets of a burst stay, however far the others have come",
          "[daemon][unit]") {
    const NamelessFile file{by_zstd(many_frames(2'000))};
    const auto expected = expected_of({file.path()}, 2, kSmallPieces);
    CaptureFiles files{{file.path()}, 1, kSmallPieces};
    ParsedCapture parsed{files, 2, kParsedIngress, {}};
    CaptureCounters counters;
    ParsedCaptureShare slow{parsed, counters, 0};
    const ParsedFrames held = slow.receive();
    REQUIRE_FALSE(held.frames.empty());
    std::atomic<bool> has_ended{false};
    ParsedOutcome others;
    std::jthread ahead([&] {
        CaptureCounters more_counters;
        ParsedCaptureShare share{parsed, more_counters, 1};
        others = drain(share);
        has_ended = true;
    });
    std::this_thread::sleep_for(50ms);
    CHECK_FALSE(has_ended);  // it waits for room
    std::size_t compared = 0;
    for (const ParsedFrame* frame : held.frames) {
        CHECK(seen(*frame) == expected[0][compared++]);
    }
    slow.release();
    CHECK(drain(slow).frames.size() + compared == expected[0].size());
    ahead.join();
    CHECK(others.frames == expected[1]);
}

TEST_CASE("ParsedCapture: a worker too far ahead, waits until it is told to stop",
          "[daemon][unit]") {
    const NamelessFile file{many_frames(20'000)};
    CaptureFiles files{{file.path()}, 1};
    ParsedCapture parsed{files, 2, kParsedIngress, {}};
    std::atomic<std::size_t> count{0};
    std::jthread ahead([&] {
        CaptureCounters counters;
        ParsedCaptureShare share{parsed, counters, 1};
        while (!share.exhausted()) {
            count += share.receive().frames.size();
            share.release();
        }
    });
    std::this_thread::sleep_for(50ms);
    CHECK(count <= ParsedCapture::kBatches * 2 * ParsedCapture::kFramesOfWorker);
    CHECK_FALSE(files.cancel());
    ahead.join();
    CHECK(count < 5000);
    CHECK(files.failure() == std::nullopt);
}

TEST_CASE("ParsedCapture: what a pipe has brought, comes before more of it is waited for",
          "[daemon][unit]") {
    std::array<int, 2> ends{-1, -1};
    REQUIRE(::pipe(ends.data()) == 0);
    const Bytes content = many_frames(600);
    REQUIRE(::write(ends[1], content.data(), content.size()) ==
            static_cast<ssize_t>(content.size()));
    const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
    std::atomic<bool> has_come{false};
    std::atomic<bool> came_before_end{false};
    std::jthread writer([&] {
        for (int looks = 0; looks < 1000 && !has_come; ++looks) {
            std::this_thread::sleep_for(10ms);
        }
        came_before_end = has_come.load();
        ::close(ends[1]);
    });
    CaptureFiles files{{path}, 1};
    ParsedCapture parsed{files, 2, kParsedIngress, {}};
    CaptureCounters counters;
    ParsedCaptureShare first{parsed, counters, 0};
    ParsedCaptureShare second{parsed, counters, 1};
    ParsedOutcome outcome;
    for (ParsedCaptureShare* share : {&first, &second}) {
        do {
            take_burst(*share, outcome);
        } while (outcome.now < Timestamp{600s});
    }
    has_come = true;
    writer.join();
    CHECK(came_before_end);
    take_burst(first, outcome);
    take_burst(second, outcome);
    CHECK(first.exhausted());
    CHECK(second.exhausted());
    CHECK(outcome.frames.size() == 600);
    ::close(ends[0]);
}

TEST_CASE("ParsedCapture: what concerns one frame is its worker's, the rest is worker 0's",
          "[daemon][unit]") {
    constexpr std::uint16_t kWorkers = 2;
    std::string other;
    for (std::uint32_t host = 2; other.empty(); ++host) {
        const std::string frame = ip_frame(1, host, 0);
        PacketFields fields;
        const PacketView view{.captured = std::as_bytes(std::span(frame)),
                              .wire_bytes = static_cast<std::uint32_t>(frame.size())};
        REQUIRE(parse_packet(view, {}, fields) == ParseStatus::ok);
        if (worker_of(fields, kWorkers) == 1) {
            other = frame;
        }
    }
    CaptureBytes capture{std::endian::little};
    add_section(capture);
    add_interface(capture, 1);
    add_enhanced(capture, {.interface = 3, .ticks = 1'000'000, .data = "stray"});
    add_enhanced(capture, {.interface = 0, .ticks = 2'000'000, .data = kNoFlow});
    add_enhanced(capture, {.interface = 0, .ticks = 0, .data = other});
    add_enhanced(capture, {.interface = 0, .ticks = 3'000'000, .data = other});
    capture.u32(6);  // the start of another block
    const NamelessFile file{capture.bytes()};
    CaptureFiles files{{file.path(), "/nonexistent/x.pcap"}, 1};
    ParsedCapture parsed{files, kWorkers, kParsedIngress, {}};
    std::array<CaptureCounters, kWorkers> counters;
    for (const std::uint16_t worker : {std::uint16_t{1}, std::uint16_t{0}}) {
        ParsedCaptureShare share{parsed, counters[worker], worker};
        CHECK(drain(share).frames.size() == (worker == 0 ? 1 : 2));
    }
    CHECK(counters[0].unknown_interface.read() == 1);
    CHECK(counters[0].unknown_interface_octets.read() == 5);
    CHECK(counters[1].unknown_interface.read() == 0);
    CHECK(counters[0].bad_timestamp.read() == 0);
    CHECK(counters[1].bad_timestamp.read() == 1);
    CHECK(files.cut_files() == std::vector<CutCapture>{{file.path(), ""}});
    CHECK(files.failure() == CaptureFailure{"/nonexistent/x.pcap", "No such file or directory", 0});
}

TEST_CASE("ParsedCapture: frames of another worker only, the burst is empty and its clock moves",
          "[daemon][unit]") {
    constexpr std::uint32_t kBatch = ParsedCapture::kFramesOfWorker;
    CaptureBytes capture = pcap_header(std::endian::little);
    for (std::uint32_t i = 1; i <= kBatch + 44; ++i) {
        add(capture, {.seconds = i, .data = kNoFlow});
    }
    const NamelessFile file{capture.bytes()};
    CaptureFiles files{{file.path()}, 1};
    ParsedCapture parsed{files, 2, kParsedIngress, {}};
    CaptureCounters counters;
    ParsedCaptureShare share{parsed, counters, 1};
    const ParsedFrames burst = share.receive();
    CHECK(burst.frames.empty());
    CHECK(burst.now == Timestamp{std::chrono::seconds{kBatch}});
    CHECK_FALSE(share.exhausted());
    share.release();
    ParsedOutcome outcome;
    take_burst(share, outcome);
    CHECK(outcome.frames.empty());
    CHECK(outcome.now == Timestamp{std::chrono::seconds{kBatch + 44}});
    CHECK(share.exhausted());
}

}  // namespace
}  // namespace tributary
