// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "perf/support/huge_memory.hpp"
#include "perf/support/random.hpp"

namespace tributary::perf {

/// The memory's best speed: lines of 64 bytes, chosen at random, each read, changed and written.
/// The lines of the next batch are prefetched during the work on this one. A flow table that only
/// touches one line per packet would be as fast.
///
/// The length of rounds matters if the lines just fit into the last-level cache, which has them
/// only after their use: each of a million lines took 4.4 to 5.2 ns after 24 million accesses in a
/// row, and 5.5 to 6.3 ns when every 8 million alternated with as many elsewhere.
class Yardstick {
public:
    /// @param lines  1 .. 2^32 - 1
    explicit Yardstick(std::uint32_t lines);

    /// @param accesses  rounded up to a multiple of kBatch
    void work(std::uint64_t accesses) noexcept;

    /// Throws unless the lines hold what a plain loop over the same random numbers
    /// counts; only for a new yardstick.
    void check();

    static constexpr std::uint64_t kBatch = 32;

private:
    struct alignas(64) Line {
        std::uint64_t accesses;
        std::uint64_t rest[7];
    };

    HugeMemory memory_;
    std::span<Line> lines_;
    Random random_;
};

}  // namespace tributary::perf
