// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/ntp_time.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>

using namespace tributary;
using std::chrono::nanoseconds;

namespace {

constexpr Timestamp after(std::uint64_t seconds, std::uint64_t nanos) {
    return Timestamp{nanoseconds{static_cast<std::int64_t>(seconds * 1'000'000'000 + nanos)}};
}

std::uint64_t truncated(std::uint64_t ntp, std::uint64_t per_second) {
    return ((ntp & 0xFFFF'FFFF) * per_second) >> 32U;
}

std::uint64_t rounded(std::uint64_t ntp, std::uint64_t per_second) {
    return ((ntp & 0xFFFF'FFFF) * per_second + (1ULL << 31U)) >> 32U;
}

}  // namespace

TEST_CASE("ntp_time: 1970 is 2208988800 seconds after 1900", "[export][unit]") {
    CHECK(to_ntp_nanoseconds(after(0, 0)) == 0x83AA'7E80'0000'0000);
    CHECK(to_ntp_microseconds(after(0, 0)) == 0x83AA'7E80'0000'0000);
}

TEST_CASE("ntp_time: binary fractions of a second are exact", "[export][unit]") {
    CHECK(to_ntp_nanoseconds(after(1, 500'000'000)) == 0x83AA'7E81'8000'0000);
    CHECK(to_ntp_microseconds(after(1, 500'000'000)) == 0x83AA'7E81'8000'0000);
    CHECK(to_ntp_nanoseconds(after(1'600'000'000, 250'000'000)) == 0xE308'8E80'4000'0000);
    CHECK(to_ntp_microseconds(after(1'600'000'000, 750'000'000)) == 0xE308'8E80'C000'0000);
}

TEST_CASE("ntp_time: other fractions are rounded up to the next binary one", "[export][unit]") {
    CHECK((to_ntp_nanoseconds(after(0, 1)) & 0xFFFF'FFFF) == 5);  // 4.29
    CHECK((to_ntp_nanoseconds(after(0, 999'999'999)) & 0xFFFF'FFFF) == 0xFFFF'FFFC);
    CHECK((to_ntp_microseconds(after(0, 1000)) & 0xFFFF'FFFF) == 6144);  // 4294.97 up to 3 * 2048
    CHECK((to_ntp_microseconds(after(0, 1999)) & 0xFFFF'FFFF) == 6144);  // 1 microsecond and a part
    CHECK((to_ntp_microseconds(after(0, 999'999'999)) & 0xFFFF'FFFF) == 0xFFFF'F000);
}

TEST_CASE("ntp_time: readers that truncate and that round both find the number", "[export][unit]") {
    for (std::uint64_t nanos = 0; nanos < 1'000'000'000; nanos += 104'729) {
        const Timestamp time = after(1'600'000'000, nanos);
        const std::uint64_t fine = to_ntp_nanoseconds(time);
        const std::uint64_t coarse = to_ntp_microseconds(time);
        REQUIRE(truncated(fine, 1'000'000'000) == nanos);
        REQUIRE(rounded(fine, 1'000'000'000) == nanos);
        REQUIRE(truncated(coarse, 1'000'000) == nanos / 1000);
        REQUIRE(rounded(coarse, 1'000'000) == nanos / 1000);
        REQUIRE((coarse & 0x7FF) == 0);
    }
}

TEST_CASE("ntp_time: from February 2036 on it is the next era", "[export][unit]") {
    CHECK(to_ntp_nanoseconds(after(2'085'978'495, 0)) == 0xFFFF'FFFF'0000'0000);
    CHECK(to_ntp_nanoseconds(after(2'085'978'496, 0)) == 0);
}
