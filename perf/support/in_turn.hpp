// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

// Timing on machines that are shared and noisy. What is to be compared runs in one process, in
// turn, round after round, so that whatever slows the machine down for a while slows all of them;
// the median of the rounds is the figure. Google Benchmark can interleave too, but its own
// calibration hides how many calls were made, which counting instructions under callgrind needs.

namespace tributary::perf {

/// Something that is measured, per packet.
struct Subject {
    std::string name;
    /// Works on this many packets.
    std::function<void(std::uint64_t packets)> work;
    /// Makes the state that `work` starts from, before each call of it; not timed.
    std::function<void()> prepare{};
    /// That one call of `work` can take; more are shared out between several.
    std::uint64_t most_packets = std::numeric_limits<std::uint64_t>::max();
};

/// Nanoseconds of this thread's CPU time per packet, over all rounds.
struct Figure {
    std::string name;
    double median{};
    double least{};
    double most{};
};

/// Times all subjects in turn, `rounds` times, after one round that is not counted.
///
/// @param packets  per subject and round
/// @return         in the order of the subjects
[[nodiscard]] std::vector<Figure> measure_in_turn(std::span<const Subject> subjects, int rounds,
                                                  std::uint64_t packets);

/// The middle one; of an even number the upper middle.
[[nodiscard]] double median_of(std::vector<double> values);

/// Keeps the compiler from leaving out what made `value`.
template <class T>
void keep(const T& value) noexcept {
    asm volatile("" : : "m"(value) : "memory");
}

/// Throws std::runtime_error unless `holds`: a benchmark of something wrong is no benchmark.
void demand(bool holds, const std::string& what);

}  // namespace tributary::perf
