// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "flowcache/record/counter.hpp"

namespace tributary {

/// How many records took how long. One writer, any reader.
class LatencyHistogram {
public:
    /// Upper bound of each bucket; one bucket more counts the rest.
    static constexpr std::array<std::chrono::milliseconds, 11> kBounds{
        {std::chrono::milliseconds{1}, std::chrono::milliseconds{5}, std::chrono::milliseconds{10},
         std::chrono::milliseconds{50}, std::chrono::milliseconds{100},
         std::chrono::milliseconds{500}, std::chrono::seconds{1}, std::chrono::seconds{2},
         std::chrono::seconds{5}, std::chrono::seconds{10}, std::chrono::seconds{60}}};

    struct Reading {
        std::array<std::uint64_t, kBounds.size() + 1> records{};  ///< by bucket
        double seconds{};                                         ///< over all records
    };

    /// @thread  the one writer
    void add(std::chrono::nanoseconds latency, std::uint64_t records) noexcept {
        const auto* const bound = std::ranges::lower_bound(kBounds, latency);
        buckets_.at(static_cast<std::size_t>(bound - kBounds.begin())).add(records);
        const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(latency);
        microseconds_.add(static_cast<std::uint64_t>(whole.count()) * records);
    }
    /// @thread  any
    [[nodiscard]] Reading read() const noexcept {
        Reading reading;
        std::ranges::transform(buckets_, reading.records.begin(), &Counter::read);
        reading.seconds = static_cast<double>(microseconds_.read()) / 1e6;
        return reading;
    }

private:
    std::array<Counter, kBounds.size() + 1> buckets_;
    Counter microseconds_;  ///< over all records: a million a second may wait ten for 20 days
};

}  // namespace tributary
