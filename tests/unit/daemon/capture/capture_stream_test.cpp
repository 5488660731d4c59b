// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_stream.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/capture/capture_source.hpp"
#include "daemon/capture/capture_walk.hpp"
#include "tests/unit/daemon/capture/capture_builder.hpp"
#include "tests/unit/daemon/capture/compressed.hpp"
#include "tests/unit/daemon/capture/nameless_file.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr CaptureStreamSizes kSmall{.piece = 64, .longest_item = 4096};

struct Told {
    std::string text;
    Timestamp time;
    friend bool operator==(const Told&, const Told&) = default;
};

struct Walked {
    std::vector<Told> frames;
    CaptureItem last = CaptureItem::end;
    CaptureEnding ending = CaptureEnding::whole;
    std::string fault;
};

Walked walked(CaptureWalk walk) {
    Walked result;
    while (true) {
        CaptureFrame frame;
        result.last = walk.next(frame);
        if (result.last == CaptureItem::frame) {
            result.frames.push_back({std::string(text_of(frame.captured)), frame.time});
        } else if (result.last == CaptureItem::pause) {
            walk.read_on();
        } else if (result.last == CaptureItem::end || result.last == CaptureItem::cut) {
            result.ending = walk.ending();
            result.fault = walk.fault();
            return result;
        }
    }
}

Walked walk_file(const Bytes& content, NamelessFile::Kind kind = NamelessFile::Kind::regular,
                 const CaptureStreamSizes& sizes = kSmall) {
    const NamelessFile file{content, kind};
    CaptureReading reading;
    return walked(CaptureWalk(std::make_shared<OpenCapture>(file.path(), reading, 1, sizes)));
}

/// Frames from 0 octets to several pieces long, across pieces in all ways.
std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (std::size_t octets = 0; octets < 300; octets += 7) {
        all.emplace_back(octets, static_cast<char>('a' + octets % 26));
    }
    return all;
}

Bytes pcap() {
    CaptureBytes file = pcap_header(std::endian::little);
    std::uint32_t seconds = 1;
    for (const std::string& text : texts()) {
        add(file, {.seconds = seconds++, .data = text});
    }
    return file.bytes();
}

Bytes pcapng() {
    CaptureBytes file{std::endian::big};
    std::uint32_t ticks = 1;
    for (const std::string& text : texts()) {
        if (ticks % 20 == 1) {  // interfaces and byte order hold across pieces
            add_section(file);
            add_interface(file, 1);
            add_interface(file, 1, 0,
                          CaptureBytes{std::endian::big}.u16(9).u16(1).u32(0x0900'0000).bytes());
        }
        add_enhanced(file, {.interface = ticks % 2, .ticks = ticks, .data = text});
        ++ticks;
    }
    return file.bytes();
}

Bytes joined(const Bytes& one, const Bytes& other) {
    Bytes both = one;
    both.insert(both.end(), other.begin(), other.end());
    return both;
}

Bytes bytes_of(std::string_view text) {
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

/// The first `octets`, and the rest.
std::pair<Bytes, Bytes> cut_at(const Bytes& bytes, std::size_t octets) {
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(octets);
    return {Bytes(bytes.begin(), place), Bytes(place, bytes.end())};
}

bool is_prefix(const std::vector<Told>& frames, const std::vector<Told>& all) {
    return frames.size() <= all.size() &&
           std::ranges::equal(frames, std::span(all).first(frames.size()));
}

TEST_CASE("CaptureStream: compressed or piped captures, have the frames of the plain file",
          "[daemon][unit]") {
    for (const Bytes& capture : {pcap(), pcapng()}) {
        const Walked plain = walk_file(capture);
        REQUIRE(plain.frames.size() == texts().size());
        for (const auto kind : {NamelessFile::Kind::regular, NamelessFile::Kind::pipe}) {
            for (const Bytes& file :
                 {compressed(Compression::gzip, capture), compressed(Compression::xz, capture),
                  compressed(Compression::zstd, capture), capture}) {
                for (const std::size_t piece : {24U, 64U, 1000U, 1U << 18U}) {
                    const Walked read =
                        walk_file(file, kind, {.piece = piece, .longest_item = 4096});
                    CHECK(read.frames == plain.frames);
                    CHECK(read.last == CaptureItem::end);
                    CHECK(read.ending == CaptureEnding::whole);
                    CHECK(read.fault.empty());
                }
            }
        }
    }
}

TEST_CASE("CaptureStream: members one after the other and what may lie between, are one file",
          "[daemon][unit]") {
    const Bytes capture = pcap();
    const Walked plain = walk_file(capture);
    const Bytes none;
    for (const Compression how : kCompressions) {
        Bytes many;
        for (std::size_t at = 0; at < capture.size(); at += 100) {
            const std::size_t octets = std::min<std::size_t>(100, capture.size() - at);
            many = joined(many, compressed(how, std::span(capture).subspan(at, octets)));
            many = joined(many, compressed(how, none));
        }
        CHECK(walk_file(many).frames == plain.frames);
        CHECK(walk_file(many).fault.empty());
    }
    const Bytes zeros(512);
    CHECK(walk_file(joined(by_gzip(capture), zeros)).fault.empty());
    CHECK(walk_file(joined(joined(by_xz(capture), zeros), by_xz(none))).fault.empty());
    const Bytes skipped = bytes_of({"\x5A\x2A\x4D\x18\x03\0\0\0abc", 11});  // RFC 8878 §3.1.2
    const Walked zstd = walk_file(joined(joined(skipped, by_zstd(capture)), skipped));
    CHECK(zstd.frames == plain.frames);
    CHECK(zstd.fault.empty());
}

TEST_CASE("CaptureStream: a compressed file cut at any octet, gives a prefix and its reason",
          "[daemon][unit]") {
    const Bytes capture = pcap();
    const Walked plain = walk_file(capture);
    for (const Compression how : kCompressions) {
        const Bytes whole = compressed(how, capture);
        for (std::size_t octets = Decompressor::kMagicOctets; octets < whole.size(); ++octets) {
            const Walked read = walk_file(cut_at(whole, octets).first);
            CHECK(is_prefix(read.frames, plain.frames));
            CHECK(read.ending == CaptureEnding::damaged);
            CHECK(read.fault.ends_with(": the file is cut off, in front of octet " +
                                       std::to_string(octets) + " of the file"));
        }
    }
}

TEST_CASE("CaptureStream: any damaged octet, ends the walk and most are told", "[daemon][unit]") {
    const Bytes capture = pcap();
    const Walked plain = walk_file(capture);
    for (const Compression how : kCompressions) {
        const Bytes whole = compressed(how, capture);
        for (std::size_t at = Decompressor::kMagicOctets; at < whole.size(); ++at) {
            Bytes damaged = whole;
            damaged[at] ^= std::byte{0x10};
            const Walked read = walk_file(damaged);
            // The other octets have no effect: gzip's time and system.
            CHECK((read.ending == CaptureEnding::damaged || read.frames == plain.frames));
        }
    }
}

TEST_CASE("CaptureStream: octets behind the end, are told and what came before is kept",
          "[daemon][unit]") {
    const Bytes capture = pcap();
    const Walked plain = walk_file(capture);
    const Bytes garbage = bytes_of("this is something else");
    for (const auto& [how, reason] :
         {std::pair{Compression::gzip, "gzip: what follows its end is not gzip, "},
          std::pair{Compression::xz, "xz: what follows its end is not xz, "},
          std::pair{Compression::zstd, "zstd: what follows its end is not zstd, "}}) {
        for (std::size_t octets = 1; octets <= garbage.size(); ++octets) {
            const Bytes rest = cut_at(garbage, octets).first;
            for (const auto kind : {NamelessFile::Kind::regular, NamelessFile::Kind::pipe}) {
                const Walked read = walk_file(joined(compressed(how, capture), rest), kind);
                CHECK(read.frames == plain.frames);
                CHECK(read.last == CaptureItem::cut);
                CAPTURE(read.fault, octets);
                CHECK(read.fault.starts_with(reason));
            }
        }
        // The cut begin of another member, frame or stream.
        const Bytes begun = cut_at(compressed(how, capture), 1).first;
        const Walked read = walk_file(joined(compressed(how, capture), begun));
        CHECK(read.frames == plain.frames);
        CAPTURE(read.fault);
        CHECK(read.fault.find(": the file is cut off, ") != std::string::npos);
    }
    CHECK(walk_file(joined(by_xz(capture), Bytes(3))).fault.starts_with("xz: the data is damaged"));
}

TEST_CASE("CaptureStream: a damaged block of pcapng, is told as that and ends the walk there",
          "[daemon][unit]") {
    for (const std::uint32_t length : {0U, 4U, 11U}) {
        CaptureBytes file{std::endian::little};
        add_section(file);
        add_interface(file, 1);
        add_enhanced(file, {.ticks = 1, .data = "good"});
        file.u32(6).u32(length);
        for (int i = 0; i < 2000; ++i) {  // several pieces after it
            file.u32(0);
        }
        const Bytes capture = file.bytes();
        for (const Bytes& content : {capture, by_gzip(capture), by_xz(capture)}) {
            for (const auto kind : {NamelessFile::Kind::regular, NamelessFile::Kind::pipe}) {
                const Walked read = walk_file(content, kind);
                CHECK(read.frames.size() == 1);
                CHECK(read.last == CaptureItem::cut);
                CHECK(read.fault ==
                      "the capture is damaged: a block's length is below 12 octets, the least it "
                      "can be");
            }
        }
    }
    Bytes twice = pcapng();  // with several sections
    const Bytes section = cut_at(twice, 12).first;
    const auto last = std::find_end(twice.begin(), twice.end(), section.begin(), section.end());
    last[9] ^= std::byte{1};  // of the byte order magic
    for (const auto kind : {NamelessFile::Kind::regular, NamelessFile::Kind::pipe}) {
        const Walked read = walk_file(twice, kind);
        CHECK(read.last == CaptureItem::cut);
        CHECK(read.fault == "the capture is damaged: a section header has neither byte order");
    }
}

TEST_CASE("CaptureStream: a window of more than 128 MiB, is refused by name", "[daemon][unit]") {
    // A frame header with a window of 2^28 octets (RFC 8878 §3.1.1.1.2).
    const Walked zstd = walk_file(bytes_of({"\x28\xB5\x2F\xFD\x00\x90\x01\0\0", 9}));
    CHECK(zstd.ending == CaptureEnding::damaged);
    CHECK(zstd.fault.starts_with("zstd: its window is larger than 128 MiB"));
    // The block header's filter flags: LZMA2, with the dictionary's size in one octet.
    Bytes xz = by_xz(pcap());
    constexpr std::size_t kBlock = 12;
    const std::array lzma2{std::byte{0x21}, std::byte{1}};
    const auto filter = std::search(xz.begin() + kBlock, xz.end(), lzma2.begin(), lzma2.end());
    REQUIRE(filter != xz.end());
    filter[2] = std::byte{32};  // 256 MiB
    const std::size_t crc = kBlock + std::to_integer<std::size_t>(xz[kBlock]) * 4;
    const std::uint32_t sum =
        lzma_crc32(reinterpret_cast<const std::uint8_t*>(&xz[kBlock]), crc - kBlock, 0);
    std::memcpy(&xz[crc], &sum, sizeof sum);
    const Walked read = walk_file(xz);
    CHECK(read.ending == CaptureEnding::damaged);
    CAPTURE(read.fault);
    CHECK(read.fault.starts_with("xz: its dictionary wants 256 MiB of memory, of 128 "));
}

TEST_CASE("CaptureStream: an item longer than is kept, ends the walk by name", "[daemon][unit]") {
    const std::string long_text(4000, 'x');
    const std::string longer_text(4200, 'y');
    CaptureBytes file = pcap_header(std::endian::little);
    add(file, {.seconds = 1, .data = long_text});
    add(file, {.seconds = 2, .data = longer_text});
    add(file, {.seconds = 3, .data = "z"});
    for (const Bytes& content : {file.bytes(), by_gzip(file.bytes())}) {
        const Walked read = walk_file(content, NamelessFile::Kind::pipe);
        CHECK(read.frames == std::vector<Told>{{long_text, Timestamp{1s}}});
        CHECK(read.last == CaptureItem::cut);
        CHECK(read.fault.find("longer than 4096 octets") != std::string::npos);
    }
}

TEST_CASE("CaptureStream: workers at once, each see all frames, and none is left behind",
          "[daemon][unit]") {
    CaptureBytes capture = pcap_header(std::endian::little);
    for (std::uint32_t i = 1; i <= 5000; ++i) {
        add(capture, {.seconds = i, .data = "a frame of some length"});
    }
    const NamelessFile file{by_zstd(capture.bytes())};
    constexpr std::uint16_t kWorkers = 4;
    CaptureFiles files{{file.path(), file.path()}, kWorkers, kSmall};
    std::array<std::size_t, kWorkers> frames{};
    {
        std::vector<std::jthread> threads;
        for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
            threads.emplace_back([&, worker] {
                CaptureCounters counters;
                CaptureSource source{files, counters, worker};
                while (!source.exhausted()) {
                    const FrameBurst burst = source.receive();
                    frames[worker] += burst.frames.size();
                    source.release(burst);
                    if (worker == 3) {
                        std::this_thread::yield();
                    }
                }
            });
        }
    }
    for (const std::size_t each : frames) {
        CHECK(each == 10'000);
    }
    CHECK(files.cut_count() == 0);
    CHECK(files.failure() == std::nullopt);
}

TEST_CASE("CaptureStream: a worker too far ahead, waits until it is told to stop",
          "[daemon][unit]") {
    CaptureBytes capture = pcap_header(std::endian::little);
    for (std::uint32_t i = 1; i <= 1000; ++i) {
        add(capture, {.seconds = i, .data = "a frame of some length"});
    }
    const NamelessFile file{by_xz(capture.bytes())};
    CaptureFiles files{{file.path()}, 2, kSmall};
    std::atomic<std::size_t> seen{0};
    std::jthread ahead([&] {
        CaptureCounters counters;
        CaptureSource source{files, counters, 0};
        while (!source.exhausted()) {
            seen += source.receive().frames.size();
        }
    });
    std::this_thread::sleep_for(50ms);
    CHECK(seen <= CaptureStream::kPieces * (kSmall.piece / 16));
    CHECK_FALSE(files.cancel());
    ahead.join();
    CHECK(seen < 1000);
    CHECK(files.cut_count() == 0);
    CHECK(files.failure() == std::nullopt);
}

TEST_CASE("CaptureFiles: what is compressed and no capture, ends the stream with its reason",
          "[daemon][unit]") {
    const Bytes text = bytes_of("#!/bin/sh\nexit 0 # no capture\n");
    const auto reason_of = [](const Bytes& content) {
        const NamelessFile file{content};
        CaptureFiles files{{file.path()}, 1};
        CHECK(files.take(0) == nullptr);
        return files.failure().value_or(CaptureFailure{}).reason;
    };
    CHECK(reason_of(by_gzip(text)) == "unpacked by gzip: not a pcap or pcapng file");
    CHECK(reason_of(by_zstd({})) == "unpacked by zstd: too short for a capture file");
    CHECK(reason_of(by_xz(by_gzip(pcap()))) ==
          "unpacked by xz: compressed twice, or not by gzip, xz or zstd; unpack it first");
    CHECK(reason_of(bytes_of("BZh91AY&SY and more of it, much more")) ==
          "compressed twice, or not by gzip, xz or zstd; unpack it first");
    CHECK(reason_of(cut_at(by_gzip(pcap()), 12).first) ==
          "gzip: the file is cut off, in front of octet 12 of the file");
}

TEST_CASE(
    "CaptureSource: damage in what is compressed, is a cut of that file, and the next is read",
    "[daemon][unit]") {
    const Bytes capture = pcap();
    const Bytes whole = by_gzip(capture);
    const NamelessFile cut{cut_at(whole, whole.size() - 4).first};
    const NamelessFile good{whole};
    CaptureFiles files{{cut.path(), good.path()}, 1, kSmall};
    CaptureCounters counters;
    CaptureSource source{files, counters, 0};
    std::size_t frames = 0;
    while (!source.exhausted()) {
        frames += source.receive().frames.size();
    }
    CHECK(frames == 2 * texts().size());
    CHECK(files.cut_files() ==
          std::vector<CutCapture>{{cut.path(), "gzip: the file is cut off, in front of octet " +
                                                   std::to_string(whole.size() - 4) +
                                                   " of the file"}});
}

}  // namespace
}  // namespace tributary
