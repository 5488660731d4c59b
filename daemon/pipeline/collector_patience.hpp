// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "daemon/pipeline/ledger.hpp"

namespace tributary {

/// Decides when to stop reading captures because no collector can be reached. The records of a
/// capture wait for a slow collector; without any they would wait for ever.
///
/// @thread  one
class CollectorPatience {
public:
    using Clock = std::chrono::steady_clock;

    CollectorPatience(Clock::duration patience, Clock::time_point begin) noexcept
        : patience_(patience), since_(begin) {}

    /// Call it about once a second.
    ///
    /// @return  true: records have waited for the whole patience, no collector has taken a record
    ///          meanwhile, and none was connected without errors
    [[nodiscard]] bool is_over(const Ledger& ledger, Clock::time_point now) noexcept;

private:
    Clock::duration patience_;
    Clock::time_point since_;
    std::uint64_t exported_ = 0;  ///< at that time
    std::uint64_t failures_ = 0;  ///< the same
};

}  // namespace tributary
