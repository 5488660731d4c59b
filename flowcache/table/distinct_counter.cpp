// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/distinct_counter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace tributary {

namespace {

constexpr unsigned kIndexBits = 9;
static_assert(1U << kIndexBits == DistinctCounter::kRegisters);
constexpr unsigned kHashBits = 32;
constexpr unsigned kHighestRank = kHashBits - kIndexBits + 1;  // of a hash without more bits set
constexpr unsigned kRegisterMask = (1U << DistinctCounter::kRegisterBits) - 1;
static_assert(kHighestRank <= kRegisterMask);

/// Ertl's sigma: what registers of 0 say.
double sigma(double x) noexcept {
    double y = 1;
    double z = x;
    double before = 0;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

/// Ertl's tau: what registers at their end say.
double tau(double x) noexcept {
    if (x == 0 || x == 1) {
        return 0;
    }
    double y = 1;
    double z = 1 - x;
    double before = 0;
    do {
        x = std::sqrt(x);
        before = z;
        y /= 2;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

}  // namespace

void DistinctCounter::add(std::uint32_t hash) noexcept {
    if (has_registers_ != 0) {
        raise(hash);
        return;
    }
    if (is_listed(hash)) {
        return;
    }
    if (listed_count_ < kMostListed) {
        std::memcpy(state_.data() + sizeof hash * listed_count_, &hash, sizeof hash);
        ++listed_count_;
        return;
    }
    make_registers();
    raise(hash);
}

std::uint32_t DistinctCounter::listed(std::size_t place) const noexcept {
    std::uint32_t hash = 0;
    std::memcpy(&hash, state_.data() + sizeof hash * place, sizeof hash);
    return hash;
}

bool DistinctCounter::is_listed(std::uint32_t hash) const noexcept {
    // No way out of the loop, so that it is done with vectors.
    unsigned found = 0;
    for (std::size_t place = 0; place < listed_count_; ++place) {
        found |= static_cast<unsigned>(listed(place) == hash);
    }
    return found != 0;
}

void DistinctCounter::make_registers() noexcept {
    const DistinctCounter list = *this;
    state_.fill(0);
    has_registers_ = 1;
    for (std::size_t place = 0; place < list.listed_count_; ++place) {
        raise(list.listed(place));
    }
}

void DistinctCounter::raise(std::uint32_t hash) noexcept {
    const std::size_t index = hash >> (kHashBits - kIndexBits);
    const std::uint32_t rest = hash << kIndexBits | 1U << (kIndexBits - 1);  // ends the zeros
    const unsigned rank = static_cast<unsigned>(std::countl_zero(rest)) + 1;
    const std::size_t bit = index * kRegisterBits;
    std::uint8_t* const at = state_.data() + bit / 8;
    const unsigned shift = bit % 8;
    const bool crosses = shift > 8 - kRegisterBits;
    const unsigned word = at[0] | (crosses ? unsigned{at[1]} << 8U : 0U);
    if ((word >> shift & kRegisterMask) >= rank) {
        return;
    }
    const unsigned raised = (word & ~(kRegisterMask << shift)) | rank << shift;
    at[0] = static_cast<std::uint8_t>(raised);
    if (crosses) {
        at[1] = static_cast<std::uint8_t>(raised >> 8U);
    }
}

unsigned DistinctCounter::register_at(std::size_t index) const noexcept {
    const std::size_t bit = index * kRegisterBits;
    const std::size_t octet = bit / 8;
    const unsigned shift = bit % 8;
    unsigned word = state_[octet];
    if (shift > 8 - kRegisterBits) {
        word |= unsigned{state_[octet + 1]} << 8U;
    }
    return word >> shift & kRegisterMask;
}

std::uint32_t DistinctCounter::estimate() const noexcept {
    if (has_registers_ == 0) {
        return listed_count_;
    }
    std::array<std::uint16_t, kRegisterMask + 1> counts{};
    for (std::size_t index = 0; index < kRegisters; ++index) {
        ++counts[register_at(index)];
    }
    constexpr auto kAll = static_cast<double>(kRegisters);
    constexpr double kAlpha = 0.5 / std::numbers::ln2;
    double z = kAll * tau(1 - counts[kHighestRank] / kAll);
    for (unsigned rank = kHighestRank - 1; rank > 0; --rank) {
        z = 0.5 * (z + counts[rank]);
    }
    z += kAll * sigma(counts[0] / kAll);
    const double values = std::round(kAlpha * kAll * kAll / z);
    return values < std::numeric_limits<std::uint32_t>::max()
               ? static_cast<std::uint32_t>(values)
               : std::numeric_limits<std::uint32_t>::max();
}

}  // namespace tributary
