// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <random>

#include "flowcache/input/packet_selector.hpp"
#include "flowcache/record/options.hpp"

namespace tributary {

/// A sampler's method in the terms of PSAMP; for options records.
///
/// @source  RFC 5477 §8.2
struct SelectionReport {
    std::uint16_t selector_algorithm{};  ///< selectorAlgorithm (IE 304)
    std::uint32_t sampling_interval{};   ///< samplingPacketInterval (IE 305); count based only
    std::uint32_t sampling_space{};      ///< samplingPacketSpace (IE 306); count based only
    double sampling_probability{};       ///< samplingProbability (IE 311); random only
    friend bool operator==(const SelectionReport&, const SelectionReport&) = default;
};

[[nodiscard]] constexpr SelectionReport report_selection(const SamplingOptions& options) noexcept {
    constexpr std::uint16_t kSystematicCountBased = 1;  // IANA "PSAMP Parameters"
    constexpr std::uint16_t kUniformProbabilistic = 4;
    if (options.method == SamplingMethod::random) {
        return {.selector_algorithm = kUniformProbabilistic,
                .sampling_probability = 1.0 / options.one_in};
    }
    return {.selector_algorithm = kSystematicCountBased,
            .sampling_interval = 1,
            .sampling_space = options.one_in - 1};
}

/// Takes one in N of the packets that are offered to one queue. Counts in records are not scaled
/// up: the collector may do so by the rate in the options records.
///
/// Count based, it takes the first packet, and then each Nth one (RFC 5475 §5.1). Each queue of an
/// input counts for itself, so which packets are taken depends on how many queues there are.
/// Random, each packet has the probability 1/N, independent of all others (RFC 5475 §5.2.2.1):
/// traffic with a period of its own can't fall into step with it.
///
/// @thread  one
class Sampler {
public:
    /// @param seed  of the random choice
    Sampler(const SamplingOptions& options, std::uint64_t seed) noexcept
        : options_(options),
          state_(seed),
          taken_below_(std::numeric_limits<std::uint64_t>::max() / options.one_in) {}
    /// A sampler with a seed of its own from the kernel's random source.
    [[nodiscard]] static Sampler seeded(const SamplingOptions& options) {
        std::random_device source;
        return {options, (std::uint64_t{source()} << 32U) | source()};
    }

    [[nodiscard]] const SamplingOptions& options() const noexcept { return options_; }

    /// @param offered  packets of a burst, in their order
    /// @return         those that are taken
    /// @cost           about 1 ns for each packet offered; no system call
    [[nodiscard]] PacketMask select(PacketMask offered) noexcept {
        if (options_.one_in == 1) {
            return offered;
        }
        PacketMask taken = 0;
        for (PacketMask left = offered; left != 0; left &= left - 1) {
            const PacketMask packet = left & (~left + 1);
            taken |= takes_next() ? packet : 0;
        }
        return taken;
    }

private:
    [[nodiscard]] bool takes_next() noexcept {
        if (options_.method == SamplingMethod::random) {
            return random() < taken_below_;
        }
        const bool taken = to_pass_over_ == 0;
        to_pass_over_ = taken ? options_.one_in - 1 : to_pass_over_ - 1;
        return taken;
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): every 64-bit number once in its period.
    [[nodiscard]] std::uint64_t random() noexcept {
        state_ += 0x9E37'79B9'7F4A'7C15U;
        std::uint64_t mix = state_;
        mix = (mix ^ mix >> 30U) * 0xBF58'476D'1CE4'E5B9U;
        mix = (mix ^ mix >> 27U) * 0x94D0'49BB'1331'11EBU;
        return mix ^ mix >> 31U;
    }

    SamplingOptions options_;
    std::uint32_t to_pass_over_ = 0;  ///< count based: packets until the next one is taken
    std::uint64_t state_;
    std::uint64_t taken_below_;  ///< 2^64 / N, off by less than one: the bias is below N / 2^64
};

}  // namespace tributary
