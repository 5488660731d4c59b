// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/sampler.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tributary;

namespace {

constexpr PacketMask kWholeBurst = ~PacketMask{0};

SamplingOptions one_in(std::uint32_t n, SamplingMethod method = SamplingMethod::count) {
    return {.one_in = n, .method = method};
}

}  // namespace

TEST_CASE("Sampler: 1 in 1 takes every packet", "[flowcache][unit]") {
    for (const SamplingMethod method : {SamplingMethod::count, SamplingMethod::random}) {
        Sampler sampler(one_in(1, method), 7);
        CHECK(sampler.select(kWholeBurst) == kWholeBurst);
        CHECK(sampler.select(0b1010) == 0b1010);
        CHECK(sampler.select(0) == 0);
    }
}

TEST_CASE("Sampler: count based, it takes the first and then each Nth of those offered",
          "[flowcache][unit]") {
    Sampler sampler(one_in(3), 0);
    CHECK(sampler.select(0b1111'1111) == 0b0100'1001);
    // 8 were offered: the next is the second of this burst, and gaps do not count.
    CHECK(sampler.select(0b1010'1010) == 0b0000'1000);
    CHECK(sampler.select(0) == 0);
    CHECK(sampler.select(0b1) == 0b1);
    CHECK(sampler.select(0b1) == 0);
}

TEST_CASE("Sampler: count based, bursts of any size make no difference", "[flowcache][unit]") {
    for (const std::uint32_t n : {2U, 7U, 64U, 65U, 1000U}) {
        Sampler sampler(one_in(n), 0);
        std::uint64_t offered = 0;
        std::uint64_t taken = 0;
        for (int burst = 0; burst < 10'000; ++burst) {
            const int size = burst % 65;
            const PacketMask packets = size == 0 ? 0 : kWholeBurst >> (64 - size);
            offered += static_cast<std::uint64_t>(size);
            taken += static_cast<std::uint64_t>(std::popcount(sampler.select(packets)));
        }
        CHECK(taken == (offered + n - 1) / n);
    }
}

TEST_CASE("Sampler: random, it takes the configured share, of offered packets only",
          "[flowcache][unit]") {
    constexpr int kBursts = 100'000;
    for (const std::uint32_t n : {2U, 3U, 10U, 1000U}) {
        Sampler sampler(one_in(n, SamplingMethod::random), 42);
        PacketMask beyond = 0;
        std::uint64_t taken = 0;
        for (int burst = 0; burst < kBursts; ++burst) {
            const PacketMask chosen = sampler.select(0x5555'5555'5555'5555);
            beyond |= chosen & 0xAAAA'AAAA'AAAA'AAAA;
            taken += static_cast<std::uint64_t>(std::popcount(chosen));
        }
        CHECK(beyond == 0);
        // Binomial; the seed is fixed, so this holds always or never. Four deviations.
        const double offered = 32.0 * kBursts;
        const double deviation = std::sqrt(offered / n * (1.0 - 1.0 / n));
        CHECK(std::abs(static_cast<double>(taken) - offered / n) < 4 * deviation);
    }
}

TEST_CASE("Sampler: random, another seed takes other packets, and the same seed the same",
          "[flowcache][unit]") {
    Sampler one(one_in(2, SamplingMethod::random), 1);
    Sampler same(one_in(2, SamplingMethod::random), 1);
    Sampler other(one_in(2, SamplingMethod::random), 2);
    const PacketMask taken = one.select(kWholeBurst);
    CHECK(taken == same.select(kWholeBurst));
    CHECK(taken != other.select(kWholeBurst));
    CHECK(taken != one.select(kWholeBurst));
}

TEST_CASE("Sampler: the greatest N still works", "[flowcache][unit]") {
    Sampler count(one_in(0xFFFF'FFFF), 0);
    CHECK(count.select(kWholeBurst) == 1);
    CHECK(count.select(kWholeBurst) == 0);
    Sampler random(one_in(0xFFFF'FFFF, SamplingMethod::random), 3);
    CHECK(random.select(kWholeBurst) == 0);
}

TEST_CASE("report_selection: PSAMP's values for each method", "[flowcache][unit]") {
    CHECK(report_selection(one_in(100)) ==
          SelectionReport{.selector_algorithm = 1, .sampling_interval = 1, .sampling_space = 99});
    CHECK(report_selection(one_in(1)) ==
          SelectionReport{.selector_algorithm = 1, .sampling_interval = 1, .sampling_space = 0});
    CHECK(report_selection(one_in(4, SamplingMethod::random)) ==
          SelectionReport{.selector_algorithm = 4, .sampling_probability = 0.25});
}
