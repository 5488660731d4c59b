// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "parsers/units.hpp"

namespace tributary {

// dateTimeMicroseconds and dateTimeNanoseconds: seconds since 1900 in the upper half, a binary
// fraction of a second in the lower. A decimal fraction has no exact binary one. It is rounded up
// to the next binary one, so that readers that truncate and readers that round both get the
// original number.

inline constexpr std::uint64_t kNtpEpochSeconds = 2'208'988'800;  ///< from 1900 to 1970

/// @param time  not before 1970
/// @return      NTP time in units of 2^-32 s; from 2036 on in the next era
/// @source      RFC 7011 §6.1.10
[[nodiscard]] constexpr std::uint64_t to_ntp_nanoseconds(Timestamp time) noexcept {
    constexpr std::uint64_t kPerSecond = 1'000'000'000;
    const auto total = static_cast<std::uint64_t>(time.time_since_epoch().count());
    const std::uint64_t fraction = (((total % kPerSecond) << 32U) + kPerSecond - 1) / kPerSecond;
    return ((total / kPerSecond + kNtpEpochSeconds) << 32U) + fraction;
}

/// @param time  not before 1970; parts of a microsecond are cut off
/// @return      the same in units of 2^-32 s, its lowest 11 bits zero
/// @source      RFC 7011 §6.1.9
[[nodiscard]] constexpr std::uint64_t to_ntp_microseconds(Timestamp time) noexcept {
    constexpr std::uint64_t kPerSecond = 1'000'000;
    constexpr std::uint64_t kUnused = (1U << 11U) - 1;
    const auto total = static_cast<std::uint64_t>(time.time_since_epoch().count()) / 1000;
    const std::uint64_t fraction = (((total % kPerSecond) << 32U) + kPerSecond - 1) / kPerSecond;
    return ((total / kPerSecond + kNtpEpochSeconds) << 32U) + ((fraction + kUnused) & ~kUnused);
}

}  // namespace tributary
