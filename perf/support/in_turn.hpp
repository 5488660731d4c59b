// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

// Timing on shared and noisy machines. The compared subjects run in one process, in turn, round
// after round, so that a slow phase of the machine slows all of them; the figure is the median of
// the rounds. Google Benchmark can interleave too, but its calibration hides the number of calls,
// which is needed to count instructions under callgrind.

namespace tributary::perf {

/// A measured operation, per packet.
struct Subject {
    std::string name;
    /// Works on this many packets.
    std::function<void(std::uint64_t packets)> work;
    /// Makes the state for `work`, before each call; not timed.
    std::function<void()> prepare{};
    /// Most packets for one call of `work`; more are split between several calls.
    std::uint64_t most_packets = std::numeric_limits<std::uint64_t>::max();
};

/// Nanoseconds of this thread's CPU time per packet, over all rounds.
struct Figure {
    std::string name;
    double median{};
    double least{};
    double most{};
};

/// Times all subjects in turn, `rounds` times, after one uncounted round.
///
/// @param packets  per subject and round
/// @return         in the order of the subjects
[[nodiscard]] std::vector<Figure> measure_in_turn(std::span<const Subject> subjects, int rounds,
                                                  std::uint64_t packets);

/// The middle value; of an even number the upper middle.
[[nodiscard]] double median_of(std::vector<double> values);

/// Keeps the compiler from removing the computation of `value`.
template <class T>
void keep(const T& value) noexcept {
    asm volatile("" : : "m"(value) : "memory");
}

/// Throws std::runtime_error unless `holds`: a benchmark of wrong results is useless.
void demand(bool holds, const std::string& what);

}  // namespace tributary::perf
