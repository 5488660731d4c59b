// SPDX-License-Identifier: Apache-2.0
#include "export/listing/element_time.hpp"

#include <chrono>
#include <cstdint>
#include <limits>

#include "export/ipfix/ntp_time.hpp"

namespace tributary {
namespace {

constexpr std::uint64_t kMicroseconds = 1'000'000;  // in a second
constexpr std::uint64_t kNanoseconds = 1'000'000'000;

std::optional<Timestamp> since_1970(std::uint64_t value, std::uint64_t nanoseconds_each) noexcept {
    using std::chrono::nanoseconds;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<nanoseconds::rep>::max());
    return value <= kMost / nanoseconds_each
               ? std::optional(Timestamp{
                     nanoseconds{static_cast<nanoseconds::rep>(value * nanoseconds_each)}})
               : std::nullopt;
}

}  // namespace

bool is_time(IpfixType type) noexcept {
    return type >= IpfixType::date_time_seconds && type <= IpfixType::date_time_nanoseconds;
}

std::optional<Timestamp> read_element_time(IpfixType type,
                                           std::span<const std::byte> octets) noexcept {
    switch (type) {
        case IpfixType::date_time_seconds:
            return since_1970(read_unsigned(octets), kNanoseconds);
        case IpfixType::date_time_milliseconds:
            return since_1970(read_unsigned(octets), kMicroseconds);
        case IpfixType::date_time_microseconds:
            return since_1970(static_cast<std::uint64_t>(read_ntp_time(octets, kMicroseconds)),
                              kNanoseconds / kMicroseconds);
        default:
            return since_1970(static_cast<std::uint64_t>(read_ntp_time(octets, kNanoseconds)), 1);
    }
}

}  // namespace tributary
