// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "export/ipfix/ipfix_template.hpp"
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

/// @param bytes  dateTimeMicroseconds or dateTimeNanoseconds: NTP format, 8 octets in network byte
/// order
/// @param units_per_second  10^6 or 10^9
/// @return  units since 1970; NTP times before 1970 are taken as those of the era that begins in
/// 2036
/// @source  RFC 7011 §6.1.9, §6.1.10
[[nodiscard]] constexpr std::int64_t read_ntp_time(std::span<const std::byte> bytes,
                                                   std::uint64_t units_per_second) noexcept {
    constexpr std::uint64_t kEra = std::uint64_t{1} << 32U;
    constexpr std::uint64_t kHalf = kEra / 2;
    const std::uint64_t ntp = read_unsigned(bytes);
    const std::uint64_t since_1900 = ntp >> 32U;
    const std::uint64_t seconds =
        (since_1900 >= kNtpEpochSeconds ? since_1900 : since_1900 + kEra) - kNtpEpochSeconds;
    // The lowest 11 bits of dateTimeMicroseconds have no meaning.
    const std::uint64_t mask = units_per_second == 1'000'000 ? 0xFFFF'F800U : 0xFFFF'FFFFU;
    const std::uint64_t units = ((ntp & mask) * units_per_second + kHalf) >> 32U;
    return static_cast<std::int64_t>(seconds * units_per_second + units);
}

}  // namespace tributary
