// SPDX-License-Identifier: Apache-2.0
#include "export/pace.hpp"

#include <algorithm>
#include <cmath>

namespace tributary {
namespace {

/// A thread that sleeps for half a millisecond and wakes late must not slow a fast pace down.
constexpr double kBurstSeconds = 0.002;
/// After a longer pause of the export thread, time counts as so much.
constexpr double kLongestStep = 1;
/// Drain timeouts in which what waits at the beginning of the end has left: half of what
/// CollectorGroup::kSlowestDrain allows.
constexpr double kEndTimeouts = 5;

double seconds_of(std::chrono::nanoseconds time) noexcept {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

Pace::Pace(const CollectorOptions& collector) noexcept
    : mode_(collector.transport != TransportKind::udp || collector.rate == 0U ? Mode::unlimited
            : collector.rate                                                  ? Mode::fixed
                                                                              : Mode::automatic),
      rate_(collector.rate ? static_cast<double>(*collector.rate) : kBasePace),
      buffer_(collector.buffer) {}

void Pace::advance(std::chrono::nanoseconds now, std::size_t waiting) noexcept {
    const double seconds = std::min(seconds_of(now - advanced_at_.value_or(now)), kLongestStep);
    advanced_at_ = now;
    if (!is_limited() || seconds <= 0) {
        return;
    }
    if (is_auto()) {
        adapt(seconds, waiting);
    }
    credit_ = std::min(credit_ + rate_ * seconds, std::max(kBurst, rate_ * kBurstSeconds));
}

void Pace::adapt(double seconds, std::size_t waiting) noexcept {
    if (end_doubling_) {
        rate_ *= std::exp2(seconds / seconds_of(*end_doubling_));
    } else if (waiting > buffer_ / 2) {
        rate_ *= std::exp2(seconds / seconds_of(kDoubling));
    } else if (rate_ > kBasePace) {
        rate_ = std::max(kBasePace, rate_ * std::exp2(-seconds / seconds_of(kFallBack)));
    }
}

void Pace::begin_end(std::chrono::nanoseconds drain_timeout, std::size_t waiting) noexcept {
    if (!is_auto()) {
        return;
    }
    if (drain_timeout.count() == 0) {
        mode_ = Mode::unlimited;
        return;
    }
    end_doubling_ = drain_timeout;
    rate_ =
        std::max(rate_, static_cast<double>(waiting) / (kEndTimeouts * seconds_of(drain_timeout)));
}

void Pace::take(std::size_t octets) noexcept {
    credit_ -= static_cast<double>(std::max(octets, kLeast));
}

std::uint64_t Pace::rate() const noexcept {
    return is_limited() ? static_cast<std::uint64_t>(rate_) : 0;
}

}  // namespace tributary
