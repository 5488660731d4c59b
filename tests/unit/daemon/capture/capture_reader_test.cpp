// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_reader.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <vector>

#include "tests/unit/daemon/capture/capture_builder.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr auto kOrders = {std::endian::little, std::endian::big};

/// An option of an interface description, padded to four bytes.
void add_option(CaptureBytes& out, std::uint16_t code, const CaptureBytes& value) {
    out.u16(code).u16(static_cast<std::uint16_t>(value.bytes().size())).append(value.bytes());
    for (std::size_t i = value.bytes().size(); i % 4 != 0; ++i) {
        out.u8(0);
    }
}

std::vector<std::byte> time_options(std::endian order, std::uint8_t resolution,
                                    std::int64_t offset) {
    CaptureBytes options{order};
    add_option(options, 2, CaptureBytes{order}.text("eth0"));
    add_option(options, 9, CaptureBytes{order}.u8(resolution));
    add_option(options, 14, CaptureBytes{order}.u64(static_cast<std::uint64_t>(offset)));
    options.u16(0).u16(0);
    return options.bytes();
}

Timestamp time_with(std::uint8_t resolution, std::int64_t offset, std::uint64_t ticks) {
    CaptureBytes file{std::endian::little};
    add_section(file);
    add_interface(file, 1, 0, time_options(file.order(), resolution, offset));
    add_enhanced(file, {.ticks = ticks, .data = "x", .wire_bytes = 1});
    const Walk result = walk(file.bytes());
    REQUIRE(result.frames.size() == 1);
    return result.frames[0].time;
}

bool is_prefix(const std::vector<CaptureFrame>& some, const std::vector<CaptureFrame>& all) {
    return std::ranges::mismatch(some, all, [](const CaptureFrame& a, const CaptureFrame& b) {
               return text_of(a.captured) == text_of(b.captured) && a.time == b.time;
           }).in1 == some.end();
}

/// Every cut of `file` gives a prefix of its frames, and is reported as a cut unless it falls
/// between items.
void check_every_cut(const std::vector<std::byte>& file, std::size_t first_cut) {
    const Walk whole = walk(file);
    std::size_t prefixes = 0;
    std::size_t clean_ends = 0;
    for (std::size_t size = first_cut; size < file.size(); ++size) {
        // A copy of its own, so that AddressSanitizer guards its end.
        const std::vector<std::byte> part(file.data(), file.data() + size);
        const Walk result = walk(part);
        prefixes += is_prefix(result.frames, whole.frames) ? 1 : 0;
        clean_ends += result.last == CaptureItem::end ? 1 : 0;
    }
    CHECK(prefixes == file.size() - first_cut);
    CHECK(clean_ends == 2);
}

TEST_CASE("CaptureReader: pcap of each magic and byte order, frames are as written",
          "[daemon][unit]") {
    struct Case {
        std::uint32_t magic;
        Timestamp::duration fraction;
        std::string_view header_tail;
    };
    const auto c = GENERATE(Case{0xA1B2C3D4, 999'999us, ""}, Case{0xA1B23C4D, 999'999ns, ""},
                            Case{0xA1B2CD34, 999'999us, "ifindex+"});
    const auto order = GENERATE(std::endian::little, std::endian::big);
    CaptureBytes file = pcap_header(order, c.magic, 0x5400'0071);
    file.u32(0xFFFF'FFFF).u32(999'999).u32(5).u32(1500).text(c.header_tail).text("first");
    const Walk result = walk(file.bytes());
    REQUIRE(result.frames.size() == 1);
    CHECK(result.last == CaptureItem::end);
    CHECK(text_of(result.frames[0].captured) == "first");
    CHECK(result.frames[0].wire_bytes == 1500);
    CHECK(result.frames[0].link_type == LinkType{113});  // without the FCS bits above it
    CHECK(result.frames[0].time == Timestamp{0xFFFF'FFFFs + c.fraction});
}

TEST_CASE("CaptureReader: a fraction of more than a second, is added as it stands",
          "[daemon][unit]") {
    CaptureBytes file = pcap_header(std::endian::little);
    add(file, {.seconds = 10, .fraction = 0xFFFF'FFFF, .data = "a", .wire_bytes = 1});
    const Walk result = walk(file.bytes());
    REQUIRE(result.frames.size() == 1);
    CHECK(result.frames[0].time == Timestamp{10s + 0xFFFF'FFFFus});
}

TEST_CASE("CaptureReader: captured length above the wire length, wire length follows it",
          "[daemon][unit]") {
    CaptureBytes file = pcap_header(std::endian::little);
    add(file, {.data = "four", .wire_bytes = 3});
    CaptureBytes ng{std::endian::little};
    add_section(ng);
    add_interface(ng, 1);
    add_enhanced(ng, {.data = "four", .wire_bytes = 3});
    for (const auto& bytes : {file.bytes(), ng.bytes()}) {
        const Walk result = walk(bytes);
        REQUIRE(result.frames.size() == 1);
        CHECK(result.frames[0].wire_bytes == 4);
    }
}

TEST_CASE("CaptureReader: pcap cut at every byte, yields a prefix", "[daemon][unit]") {
    CaptureBytes file = pcap_header(std::endian::big);
    add(file, {.seconds = 1, .data = "first", .wire_bytes = 5});
    add(file, {.seconds = 2, .data = "second", .wire_bytes = 6});
    check_every_cut(file.bytes(), PcapReader::kFileHeader);
}

TEST_CASE("CaptureReader: a pcap length near 2^32, is a cut", "[daemon][unit]") {
    CaptureBytes file = pcap_header(std::endian::little);
    file.u32(1).u32(0).u32(0xFFFF'FFFF).u32(1).text("short");
    const Walk result = walk(file.bytes());
    CHECK(result.frames.empty());
    CHECK(result.last == CaptureItem::cut);
}

TEST_CASE("CaptureReader: not a capture, has a named error and no frames", "[daemon][unit]") {
    const auto error_of = [](const CaptureBytes& file) {
        const CaptureReader reader{file.bytes()};
        CHECK(walk(file.bytes()).last == CaptureItem::end);
        return reader.error();
    };
    const std::endian order = std::endian::little;
    CHECK(error_of(CaptureBytes{order}) == CaptureError::too_short);
    CHECK(error_of(CaptureBytes{order}.u32(kMicrosecondPcap)) == CaptureError::too_short);
    CHECK(error_of(CaptureBytes{order}.text("#!/bin/sh\nexit 0 # no capture\n")) ==
          CaptureError::unknown_format);
    CHECK(error_of(CaptureBytes{order}.u8(0x1F).u8(0x8B).u8(8)) == CaptureError::compressed);
    CHECK(error_of(CaptureBytes{order}.u32(0x0A0D0D0A).u32(28).u32(0x12345678)) ==
          CaptureError::too_short);
    CHECK(error_of(pcap_header(order)) == CaptureError::none);
    CHECK(describe(CaptureError::unknown_format) == "not a pcap or pcapng file");
}

TEST_CASE(
    "CaptureReader: pcapng in either byte order, packets take their interface's link type and time",
    "[daemon][unit]") {
    for (const std::endian order : kOrders) {
        CaptureBytes file{order};
        add_section(file);
        add_interface(file, 1);
        add_interface(file, 101, 0, time_options(order, 9, 5));
        add_enhanced(file,
                     {.interface = 1, .ticks = 7'000'000'003, .data = "raw", .wire_bytes = 60});
        add_block(file, 5, CaptureBytes{order}.u32(0).u64(1));  // interface statistics
        add_enhanced(file, {.ticks = 7'000'003, .data = "ethernet", .wire_bytes = 8});
        const Walk result = walk(file.bytes());
        REQUIRE(result.frames.size() == 2);
        CHECK(result.last == CaptureItem::end);
        CHECK(text_of(result.frames[0].captured) == "raw");
        CHECK(result.frames[0].wire_bytes == 60);
        CHECK(result.frames[0].link_type == LinkType{101});
        CHECK(result.frames[0].time == Timestamp{12s + 3ns});
        CHECK(text_of(result.frames[1].captured) == "ethernet");
        CHECK(result.frames[1].link_type == LinkType::ethernet);
        CHECK(result.frames[1].time == Timestamp{7s + 3us});
    }
}

TEST_CASE("CaptureReader: pcapng cut at every byte, yields a prefix", "[daemon][unit]") {
    CaptureBytes file{std::endian::big};
    add_section(file);
    add_interface(file, 1, 0, time_options(std::endian::big, 0x8A, -1));
    add_enhanced(file, {.ticks = 1024, .data = "first", .wire_bytes = 5});
    add_enhanced(file, {.ticks = 2048, .data = "second", .wire_bytes = 6});
    constexpr std::size_t kSection = 28;
    check_every_cut(file.bytes(), kSection + 1);
    CHECK(walk(std::span(file.bytes()).first(kSection - 1)).last == CaptureItem::cut);
    CHECK(walk(std::span(file.bytes()).first(4)).last == CaptureItem::cut);
}

TEST_CASE("CaptureReader: a second pcapng section, has its own byte order and interfaces",
          "[daemon][unit]") {
    CaptureBytes file{std::endian::little};
    add_section(file);
    add_interface(file, 1);
    add_interface(file, 1);
    add_enhanced(file, {.interface = 1, .data = "one", .wire_bytes = 3});
    CaptureBytes second{std::endian::big};
    add_section(second);
    add_interface(second, 113);
    add_enhanced(second, {.interface = 0, .data = "two", .wire_bytes = 3});
    add_enhanced(second, {.interface = 1, .data = "gone", .wire_bytes = 4});
    file.append(second.bytes());
    const Walk result = walk(file.bytes());
    REQUIRE(result.frames.size() == 2);
    CHECK(result.frames[1].link_type == LinkType{113});
    CHECK(result.unknown_interface == 1);
    CHECK(result.last == CaptureItem::end);
}

TEST_CASE("CaptureReader: if_tsresol and if_tsoffset of any value, give nanoseconds rounded down",
          "[daemon][unit]") {
    constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
    constexpr auto kMinSeconds = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMaxSeconds = std::numeric_limits<std::int64_t>::max();
    CHECK(time_with(0, 0, 4'000'000'000) == Timestamp{4'000'000'000s});
    CHECK(time_with(3, 0, 1'500) == Timestamp{1500ms});
    CHECK(time_with(12, 0, 1'999) == Timestamp{1ns});
    CHECK(time_with(28, 0, kAll) == Timestamp{1ns});  // 1.8 * 10^19 units of 10^-28 s
    CHECK(time_with(29, 0, kAll) == Timestamp{0ns});
    CHECK(time_with(27, 0, kAll) == Timestamp{18ns});
    CHECK(time_with(127, 0, kAll) == Timestamp{0ns});
    CHECK(time_with(0x80, 0, 3) == Timestamp{3s});
    CHECK(time_with(0x80 + 1, 0, 3) == Timestamp{1500ms});
    CHECK(time_with(0x80 + 63, 0, kAll) == Timestamp{1'999'999'999ns});
    CHECK(time_with(0xFF, 0, kAll) == Timestamp{0ns});
    CHECK(time_with(6, -3, 5'000'000) == Timestamp{2s});
    CHECK(time_with(6, -6, 5'000'000) == Timestamp{-1s});
    CHECK(time_with(0, 0, kAll) == Timestamp::max());
    CHECK(time_with(0, kMaxSeconds, kAll) == Timestamp::max());
    CHECK(time_with(9, kMinSeconds, 0) == Timestamp::min());
    CHECK(time_with(9, -1, 1'000'000'000) == Timestamp{0ns});
}

TEST_CASE("CaptureReader: interface options that end early, leave the defaults", "[daemon][unit]") {
    const std::endian order = std::endian::little;
    for (const auto& options :
         {CaptureBytes{order}.u16(9), CaptureBytes{order}.u16(9).u16(0),
          CaptureBytes{order}.u16(9).u16(0xFFFF), CaptureBytes{order}.u16(14).u16(8).u32(1),
          CaptureBytes{order}.u16(14).u16(4).u32(1),
          CaptureBytes{order}.u32(0).u16(9).u16(1).u32(0)}) {
        CaptureBytes file{order};
        add_section(file);
        add_interface(file, 1, 0, options.bytes());
        add_enhanced(file, {.ticks = 3, .data = "x", .wire_bytes = 1});
        const Walk result = walk(file.bytes());
        REQUIRE(result.frames.size() == 1);
        CHECK(result.frames[0].time == Timestamp{3us});
    }
}

TEST_CASE(
    "CaptureReader: a simple packet, is cut to its interface's snap length and has zero ticks",
    "[daemon][unit]") {
    for (const std::uint32_t snap : {0U, 4U}) {
        CaptureBytes file{std::endian::big};
        add_section(file);
        add_interface(file, 1, snap, time_options(std::endian::big, 6, 100));
        add_block(file, 3, CaptureBytes{std::endian::big}.u32(900).text("12345678"));
        const Walk result = walk(file.bytes());
        REQUIRE(result.frames.size() == 1);
        CHECK(text_of(result.frames[0].captured) == (snap == 0 ? "12345678" : "1234"));
        CHECK(result.frames[0].wire_bytes == 900);
        CHECK(result.frames[0].time == Timestamp{100s});
    }
}

TEST_CASE("CaptureReader: an obsolete packet block, has a 16-bit interface", "[daemon][unit]") {
    for (const std::endian order : kOrders) {
        CaptureBytes file{order};
        add_section(file);
        add_interface(file, 1);
        add_interface(file, 9);
        CaptureBytes body{order};
        body.u16(1).u16(0xFFFF).u32(1).u32(2).u32(3).u32(64).text("ppp");
        add_block(file, 2, body);
        const Walk result = walk(file.bytes());
        REQUIRE(result.frames.size() == 1);
        CHECK(text_of(result.frames[0].captured) == "ppp");
        CHECK(result.frames[0].wire_bytes == 64);
        CHECK(result.frames[0].link_type == LinkType{9});
        CHECK(result.frames[0].time == Timestamp{std::chrono::microseconds{0x1'0000'0002}});
    }
}

TEST_CASE(
    "CaptureReader: packets of an interface that is not described, are told apart from frames",
    "[daemon][unit]") {
    CaptureBytes file{std::endian::little};
    add_section(file);
    add_block(file, 3, CaptureBytes{std::endian::little}.u32(4).text("none"));
    add_enhanced(file, {.data = "none", .wire_bytes = 4});
    add_block(file, 1, CaptureBytes{std::endian::little}.u32(1));  // too short for a link type
    add_interface(file, 1);
    add_enhanced(file, {.interface = 0, .data = "none", .wire_bytes = 4});
    add_enhanced(file, {.interface = 1, .data = "some", .wire_bytes = 4});
    add_enhanced(file, {.interface = 0xFFFF'FFFF, .data = "none", .wire_bytes = 4});
    const Walk result = walk(file.bytes());
    REQUIRE(result.frames.size() == 1);
    CHECK(text_of(result.frames[0].captured) == "some");
    CHECK(result.unknown_interface == 4);
}

TEST_CASE("CaptureReader: pcapng packet that claims more than its block, has what the block holds",
          "[daemon][unit]") {
    CaptureBytes file{std::endian::little};
    add_section(file);
    add_interface(file, 1);
    CaptureBytes body{std::endian::little};
    body.u32(0).u32(0).u32(1).u32(0xFFFF'FFFF).u32(0xFFFF'FFFF).text("data");
    add_block(file, 6, body);
    add_block(file, 6, CaptureBytes{std::endian::little}.u32(0).u32(0));  // too short for a packet
    const Walk result = walk(file.bytes());
    REQUIRE(result.frames.size() == 1);
    CHECK(text_of(result.frames[0].captured) == "data");
    CHECK(result.frames[0].wire_bytes == 0xFFFF'FFFF);
    CHECK(result.last == CaptureItem::end);
}

TEST_CASE("CaptureReader: pcapng block whose length can't be, ends the walk as a cut",
          "[daemon][unit]") {
    for (const std::uint32_t length : {0U, 11U, 13U, 0xFFFF'FFFFU}) {
        CaptureBytes file{std::endian::little};
        add_section(file);
        file.u32(6).u32(length).u32(length);
        CHECK(walk(file.bytes()).last == CaptureItem::cut);
    }
}

TEST_CASE("CaptureReader: a later section without a byte order, ends the walk as a cut",
          "[daemon][unit]") {
    CaptureBytes file{std::endian::little};
    add_section(file);
    file.u32(0x0A0D0D0A).u32(28).u32(0x12345678).u64(0).u32(0).u32(28);
    CHECK(walk(file.bytes()).last == CaptureItem::cut);
}

TEST_CASE("CaptureReader: more interfaces than are kept, their packets are unknown",
          "[daemon][unit]") {
    CaptureBytes file{std::endian::little};
    add_section(file);
    for (std::size_t i = 0; i <= PcapngReader::kMaxInterfaces; ++i) {
        add_interface(file, 1);
    }
    const auto last = static_cast<std::uint32_t>(PcapngReader::kMaxInterfaces);
    add_enhanced(file, {.interface = last - 1, .data = "kept", .wire_bytes = 4});
    add_enhanced(file, {.interface = last, .data = "not", .wire_bytes = 3});
    const Walk result = walk(file.bytes());
    REQUIRE(result.frames.size() == 1);
    CHECK(text_of(result.frames[0].captured) == "kept");
    CHECK(result.unknown_interface == 1);
}

}  // namespace
}  // namespace tributary
