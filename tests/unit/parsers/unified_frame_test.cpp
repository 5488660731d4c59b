// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsers/unified_header.hpp"
#include "tests/unit/parsers/octets.hpp"
#include "tests/unit/parsers/parsed.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace unified_header;

namespace {

/// A valid frame with `records` records.
std::vector<std::byte> good_frame(std::uint16_t records) {
    std::vector<std::byte> frame(frame_at::kFirstRecord + records * kRecordBytes);
    write_unified_frame({.stream = 7, .sequence = 1000, .records = records}, {}, frame.data());
    return frame;
}

ParseStatus status_of(const std::vector<std::byte>& frame) {
    UnifiedFrame header;
    return read_unified_frame(frame, header);
}

}  // namespace

TEST_CASE("write_unified_frame: the octets are those of docs/unified-header.md",
          "[parsers][unit]") {
    const MacAddresses addresses =
        octets<12>({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1});
    std::array<std::byte, frame_at::kFirstRecord> frame{};
    frame.fill(std::byte{0xee});
    write_unified_frame({.stream = 0x0102'0304, .sequence = 0x1112'1314'1516'1718, .records = 23},
                        addresses, frame.data());
    const auto expected = octets<frame_at::kFirstRecord>({
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0,    0,    0,    1,    0x88, 0xb5, 1,    64,
        23,   0,    0,    0,    4,    3,    2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
    });
    CHECK(frame == expected);
}

TEST_CASE("read_unified_frame: a frame comes back as it was written, with or without padding",
          "[parsers][unit]") {
    for (const std::size_t padding : {0U, 1U, 63U, 64U}) {
        std::vector<std::byte> frame = good_frame(3);
        frame.resize(frame.size() + padding);
        UnifiedFrame header;
        REQUIRE(read_unified_frame(frame, header) == ParseStatus::ok);
        CHECK(header.stream == 7);
        CHECK(header.sequence == 1000);
        CHECK(header.records == 3);
    }
}

TEST_CASE("read_unified_frame: every fault has its name", "[parsers][unit]") {
    const auto changed = [](std::size_t at, int value) {
        std::vector<std::byte> frame = good_frame(2);
        frame[at] = static_cast<std::byte>(value);
        return status_of(frame);
    };
    CHECK(changed(frame_at::kEthertype, 0x08) == ParseStatus::not_unified_header);
    CHECK(changed(frame_at::kEthertype + 1, 0xb6) == ParseStatus::not_unified_header);
    CHECK(changed(frame_at::kVersion, 0) == ParseStatus::bad_unified_header_version);
    CHECK(changed(frame_at::kVersion, 2) == ParseStatus::bad_unified_header_length);
    CHECK(changed(frame_at::kVersion, 3) == ParseStatus::bad_unified_header_version);
    CHECK(changed(frame_at::kRecordBytes, 0) == ParseStatus::bad_unified_header_length);
    CHECK(changed(frame_at::kRecordBytes, 32) == ParseStatus::bad_unified_header_length);
    CHECK(changed(frame_at::kRecordBytes, 128) == ParseStatus::bad_unified_header_length);
    CHECK(changed(frame_at::kRecords, 0) == ParseStatus::bad_unified_header_length);
    CHECK(changed(frame_at::kRecords, 1) == ParseStatus::ok);
    CHECK(changed(frame_at::kRecords, 3) == ParseStatus::bad_unified_header_length);
    CHECK(changed(frame_at::kRecords + 1, 0xff) == ParseStatus::bad_unified_header_length);
    CHECK(changed(frame_at::kReserved, 0xff) == ParseStatus::ok);
}

TEST_CASE("read_unified_frame: version 2 has longer records", "[parsers][unit]") {
    const UnifiedFrame written{.stream = 1, .sequence = 2, .records = 3, .has_segments = true};
    CHECK(written.record_bytes() == 80);
    std::vector<std::byte> frame(frame_at::kFirstRecord + 3 * written.record_bytes());
    write_unified_frame(written, {}, frame.data());
    CHECK(frame[frame_at::kVersion] == std::byte{2});
    CHECK(frame[frame_at::kRecordBytes] == std::byte{80});
    UnifiedFrame header;
    REQUIRE(read_unified_frame(frame, header) == ParseStatus::ok);
    CHECK(header.records == 3);
    CHECK(header.has_segments);
    frame.pop_back();
    CHECK(status_of(frame) == ParseStatus::bad_unified_header_length);
    frame.resize(frame.size() + 1);
    frame[frame_at::kRecordBytes] = std::byte{64};
    CHECK(status_of(frame) == ParseStatus::bad_unified_header_length);
    frame[frame_at::kVersion] = std::byte{1};
    CHECK(status_of(frame) == ParseStatus::ok);  // they fit
}

TEST_CASE("read_unified_frame: a frame cut anywhere is refused", "[parsers][unit]") {
    const std::vector<std::byte> whole = good_frame(2);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::vector<std::byte> cut(whole.begin(),
                                         whole.begin() + static_cast<std::ptrdiff_t>(size));
        INFO(size);
        CHECK(status_of(cut) == (size < frame_at::kFirstRecord
                                     ? ParseStatus::not_unified_header
                                     : ParseStatus::bad_unified_header_length));
    }
}
