// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/distinct_counter.hpp"

#include <xxhash.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

using namespace tributary;

namespace {

std::uint32_t hash_of(std::uint64_t value, std::uint64_t seed) {
    return static_cast<std::uint32_t>(XXH3_64bits_withSeed(&value, sizeof value, seed) >> 32U);
}

DistinctCounter counter_of(std::uint64_t values, std::uint64_t seed) {
    DistinctCounter counter{};
    for (std::uint64_t value = 0; value < values; ++value) {
        counter.add(hash_of(value, seed));
    }
    return counter;
}

/// How far an estimate is from the truth, as a part of that.
double error_of(std::uint64_t values, std::uint64_t seed) {
    return counter_of(values, seed).estimate() / static_cast<double>(values) - 1;
}

}  // namespace

TEST_CASE("DistinctCounter: up to 80 values, are counted exactly", "[flowcache][table][unit]") {
    STATIC_REQUIRE(DistinctCounter::kMostListed == 80);
    DistinctCounter counter{};
    CHECK(counter.estimate() == 0);
    for (std::uint32_t value = 0; value < 80; ++value) {
        counter.add(hash_of(value, 1));
        counter.add(hash_of(value / 2, 1));  // seen before
        REQUIRE(counter.estimate() == value + 1);
    }
}

TEST_CASE("DistinctCounter: values that were seen before, change nothing",
          "[flowcache][table][unit]") {
    DistinctCounter counter = counter_of(5000, 3);
    const DistinctCounter before = counter;
    for (std::uint64_t value = 0; value < 5000; ++value) {
        counter.add(hash_of(value, 3));
    }
    CHECK(std::memcmp(&counter, &before, sizeof counter) == 0);
}

TEST_CASE("DistinctCounter: the list becomes registers, as if they had been there from the first",
          "[flowcache][table][unit]") {
    // In any order of the same values the registers are the same, and so whichever were listed.
    DistinctCounter backwards{};
    for (std::uint64_t value = 300; value > 0; --value) {
        backwards.add(hash_of(value - 1, 9));
    }
    const DistinctCounter forwards = counter_of(300, 9);
    CHECK(std::memcmp(&backwards, &forwards, sizeof forwards) == 0);
    CHECK(std::abs(backwards.estimate() / 300.0 - 1) < 3 * DistinctCounter::kStandardError);
}

TEST_CASE("DistinctCounter: 81 to a million values, within the stated error",
          "[flowcache][table][unit]") {
    struct Case {
        std::uint64_t values;
        std::uint64_t seeds;
    };
    for (const Case& each : {Case{81, 200},
                             {100, 200},
                             {300, 200},
                             {1000, 200},
                             {1500, 200},
                             {3000, 200},
                             {10'000, 100},
                             {100'000, 20},
                             {1'000'000, 8}}) {
        INFO(each.values);
        const auto count = static_cast<double>(each.seeds);
        double sum = 0;
        double squares = 0;
        std::uint64_t nearer = 0;
        for (std::uint64_t seed = 0; seed < each.seeds; ++seed) {
            const double error = error_of(each.values, seed);
            CHECK(std::abs(error) < 3 * DistinctCounter::kStandardError);
            sum += error;
            squares += error * error;
            nearer += std::abs(error) < DistinctCounter::kStandardError ? 1 : 0;
        }
        CHECK(std::sqrt(squares / count) <
              (each.seeds < 50 ? 1.4 : 1.1) * DistinctCounter::kStandardError);
        // No bias: the mean's own deviation is that of one estimate, by the root of their number.
        CHECK(std::abs(sum / count) < 3 * DistinctCounter::kStandardError / std::sqrt(count));
        CHECK(static_cast<double>(nearer) > (each.seeds < 50 ? 0.4 : 0.6) * count);
    }
}

TEST_CASE("DistinctCounter: hashes of all registers at their end, the largest estimate",
          "[flowcache][table][unit]") {
    DistinctCounter counter{};
    for (std::uint32_t index = 0; index < DistinctCounter::kRegisters; ++index) {
        counter.add(index << 23U);
    }
    CHECK(counter.estimate() == 0xFFFF'FFFF);
    counter.finish();
    std::uint32_t result = 0;
    std::memcpy(&result,
                reinterpret_cast<const std::byte*>(&counter) + DistinctCounter::result_at(),
                sizeof result);
    CHECK(result == 0xFFFF'FFFF);
    CHECK(counter.estimate() == 0xFFFF'FFFF);  // it goes on counting
}
