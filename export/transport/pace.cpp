// SPDX-License-Identifier: Apache-2.0
#include "export/transport/pace.hpp"

#include <algorithm>
#include <cmath>

namespace tributary {
namespace {

/// A thread that sleeps for half a millisecond and wakes late must not slow a fast pace down.
constexpr double kBurstSeconds = 0.002;
/// After a longer pause of the export thread, time counts as so much.
constexpr double kLongestStep = 1;
/// Drain timeouts until the messages that wait at the beginning of the end have left: half of
/// CollectorGroup::kSlowestDrain.
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

void Pace::advance(std::chrono::nanoseconds now, Backlog backlog) noexcept {
    const double seconds = std::min(seconds_of(now - advanced_at_.value_or(now)), kLongestStep);
    advanced_at_ = now;
    if (!is_limited() || seconds <= 0) {
        return;
    }
    if (is_auto()) {
        measure(seconds);
        adapt(seconds, backlog);
    }
    credit_ = std::min(credit_ + rate_ * seconds, std::max(kBurst, rate_ * kBurstSeconds));
}

/// The rate of new octets, as a mean in which a moment's weight falls with its age.
void Pace::measure(double seconds) noexcept {
    const double share = -std::expm1(-seconds / seconds_of(kFallBack));
    add_rate_ += share * (added_ / seconds - add_rate_);
    added_ = 0;
}

void Pace::adapt(double seconds, Backlog backlog) noexcept {
    const double twice_what_comes = std::max(kBasePace, 2 * add_rate_);
    const bool is_too_slow =
        backlog.holds_spool ? rate_ < twice_what_comes : backlog.octets > buffer_ / 2;
    if (end_doubling_) {
        rate_ *= std::exp2(seconds / seconds_of(*end_doubling_));
    } else if (is_too_slow) {
        rate_ *= std::exp2(seconds / seconds_of(kDoubling));
    } else if (rate_ > kBasePace) {
        rate_ = std::max(kBasePace, rate_ * std::exp2(-seconds / seconds_of(kFallBack)));
    }
    rate_ = std::min(rate_, kMostPace);
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
    rate_ = std::clamp(static_cast<double>(waiting) / (kEndTimeouts * seconds_of(drain_timeout)),
                       rate_, kMostPace);
}

void Pace::take(std::size_t octets) noexcept {
    credit_ -= static_cast<double>(std::max(octets, kLeast));
}

std::uint64_t Pace::rate() const noexcept {
    return is_limited() ? static_cast<std::uint64_t>(rate_) : 0;
}

}  // namespace tributary
