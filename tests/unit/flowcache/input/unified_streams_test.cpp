// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/unified_streams.hpp"

#include <catch2/catch.hpp>

namespace tributary {
namespace {

/// Records that are missing before this frame; the stream must be tracked.
std::uint64_t missing(UnifiedStreams& streams, std::uint64_t sequence, std::uint16_t records,
                      std::uint32_t stream = 0) {
    const UnifiedStreams::Gap gap =
        streams.follow({.stream = stream, .sequence = sequence, .records = records});
    CHECK(gap.tracked);
    return gap.missing;
}

TEST_CASE("UnifiedStreams: a stream may begin anywhere, then its gaps are counted",
          "[flowcache][unit]") {
    UnifiedStreams streams;
    CHECK(missing(streams, 1'000'000, 23) == 0);
    CHECK(missing(streams, 1'000'023, 23) == 0);
    CHECK(missing(streams, 1'000'047, 1) == 1);
    CHECK(missing(streams, 1'000'048, 10) == 0);
    CHECK(missing(streams, 2'000'000, 10) == 999'942);
}

TEST_CASE("UnifiedStreams: streams are counted each for itself", "[flowcache][unit]") {
    UnifiedStreams streams;
    for (std::uint32_t stream = 0; stream < 5; ++stream) {
        CHECK(missing(streams, std::uint64_t{stream} * 1000, 10, stream) == 0);
    }
    for (std::uint32_t stream = 5; stream-- > 0;) {
        CHECK(missing(streams, std::uint64_t{stream} * 1000 + 10 + stream, 10, stream) == stream);
    }
}

TEST_CASE("UnifiedStreams: a sender that begins anew is nothing missing", "[flowcache][unit]") {
    UnifiedStreams streams;
    CHECK(missing(streams, 5'000'000'000, 23) == 0);
    CHECK(missing(streams, 0, 23) == 0);
    CHECK(missing(streams, 30, 23) == 7);
    CHECK(missing(streams, std::uint64_t{1} << 63U, 23) == 0);  // as only a fault can be
    CHECK(missing(streams, 60, 23) == 0);
}

TEST_CASE("UnifiedStreams: a sender that begins anew with frames of other sizes misses nothing",
          "[flowcache][unit]") {
    UnifiedStreams streams;
    for (std::uint64_t sequence = 0; sequence < 115; sequence += 23) {
        CHECK(missing(streams, sequence, 23) == 0);
    }
    for (std::uint64_t sequence = 0; sequence < 110; sequence += 10) {
        CHECK(missing(streams, sequence, 10) == 0);
    }
    CHECK(missing(streams, 110, 23) == 0);  // overtakes what was sent before
    CHECK(missing(streams, 133, 23) == 0);
    CHECK(missing(streams, 157, 23) == 1);
    CHECK(missing(streams, 170, 10) == 0);  // late, and ends where the last one ended
    CHECK(missing(streams, 180, 10) == 0);
}

TEST_CASE("UnifiedStreams: a frame overtakes also where the sequence numbers wrap",
          "[flowcache][unit]") {
    UnifiedStreams streams;
    CHECK(missing(streams, std::uint64_t{0} - 15, 10) == 0);  // 5 before the end of all numbers
    CHECK(missing(streams, std::uint64_t{0} - 10, 23) == 0);
    CHECK(missing(streams, 13, 10) == 0);
    CHECK(missing(streams, 24, 10) == 1);
}

TEST_CASE("UnifiedStreams: frames that come late or twice count for nothing", "[flowcache][unit]") {
    UnifiedStreams streams;
    CHECK(missing(streams, 100'000, 10) == 0);
    CHECK(missing(streams, 100'020, 10) == 10);
    CHECK(missing(streams, 100'010, 10) == 0);
    CHECK(missing(streams, 100'010, 10) == 0);
    CHECK(missing(streams, 100'030, 10) == 0);
    CHECK(missing(streams, 100'040 - UnifiedStreams::kLateRecords, 10) == 0);
    CHECK(missing(streams, 100'040, 10) == 0);
    CHECK(missing(streams, 100'049 - UnifiedStreams::kLateRecords, 10) == 0);  // begins anew
    CHECK(missing(streams, 100'050, 10) == UnifiedStreams::kLateRecords - 9);
}

TEST_CASE("UnifiedStreams: a gap too long to be one is a new beginning", "[flowcache][unit]") {
    UnifiedStreams streams;
    CHECK(missing(streams, 0, 1) == 0);
    CHECK(missing(streams, 1 + UnifiedStreams::kLongestGap, 1) == UnifiedStreams::kLongestGap);
    CHECK(missing(streams, 3 + 2 * UnifiedStreams::kLongestGap, 1) == 0);
    CHECK(missing(streams, 4 + 2 * UnifiedStreams::kLongestGap, 1) == 0);
}

TEST_CASE("UnifiedStreams: streams without room are distinguished from good ones",
          "[flowcache][unit]") {
    UnifiedStreams streams;
    for (std::uint32_t stream = 0; stream < UnifiedStreams::kMostStreams; ++stream) {
        CHECK(missing(streams, 0, 1, stream) == 0);
    }
    const UnifiedStreams::Gap gap =
        streams.follow({.stream = 0xffff'ffff, .sequence = 0, .records = 1});
    CHECK_FALSE(gap.tracked);
    CHECK(gap.missing == 0);
    CHECK(missing(streams, 2, 1, 0) == 1);
    CHECK(missing(streams, 3, 1, UnifiedStreams::kMostStreams - 1) == 2);
}

}  // namespace
}  // namespace tributary
