// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/host_time.hpp"

namespace tributary {
namespace {

using Duration = Timestamp::duration;

/// The thread may be interrupted between the readings of the two clocks. Smaller steps add up until
/// they are seen.
constexpr Duration kSmallestStep = std::chrono::milliseconds(1);
constexpr int kSlowing = 1024;  // one part in 1024: a lead of a second takes 17 minutes

}  // namespace

Duration host_uptime() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

/// The step of the host's clock beside the passing of time; negative: back.
Duration HostTime::step_to(Timestamp host, Duration uptime) noexcept {
    const Duration difference = host.time_since_epoch() - uptime;
    if (!is_off_) {  // only after the clock went back, before the first look at the uptime
        difference_ = difference;
        slowed_until_ = uptime;
        return host - now_;
    }
    const Duration step = difference - difference_;
    if (std::chrono::abs(step) < kSmallestStep) {
        return {};
    }
    difference_ = difference;
    return step;
}

void HostTime::slow_down(Duration uptime) noexcept {
    // The remainder of the division stays for the next burst: bursts may be 100 ns apart.
    const Duration slowed = (uptime - slowed_until_) / kSlowing;
    slowed_until_ += slowed * kSlowing;
    lead_ -= std::min(lead_, slowed);
}

bool HostTime::follow_step(Timestamp host) noexcept {
    const Duration uptime = uptime_();
    const Duration step = step_to(host, uptime);
    if (step < Duration{}) {
        lead_ -= step;
    } else {
        const Duration from_lead = std::min(lead_, step);
        lead_ -= from_lead;
        set_back_ -= std::min(set_back_, step - from_lead);
    }
    slow_down(uptime);
    const bool goes_back = lead_ > kFurthestAhead;
    if (goes_back) {
        set_back_ += lead_;
        lead_ = {};
        set_back_at_ = uptime;
    } else if (set_back_ <= kFurthestAhead || uptime - set_back_at_ > kBelievedAfter) {
        set_back_ = {};
    }
    now_ = goes_back ? host : std::max(now_, host + lead_);
    is_off_ = lead_ > Duration{} || set_back_ > Duration{};
    behind_.set(static_cast<std::uint64_t>((lead_ + set_back_).count()));
    if (goes_back) {
        // Release, for the acquire in times_gone_back(): a reader of this count then finds the
        // behind() that belongs to it.
        times_gone_back_.fetch_add(1, std::memory_order_release);
    }
    return goes_back;
}

}  // namespace tributary
