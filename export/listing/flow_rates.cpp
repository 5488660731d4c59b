// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_rates.hpp"

#include <algorithm>
#include <chrono>

namespace tributary {
namespace {

/// A look takes time, and the queues' clocks differ a little: a flow that began no earlier than
/// this before the end of the look before counts as one that began after it.
constexpr std::chrono::seconds kSlack{1};

}  // namespace

void FlowRates::begin(double seconds) {
    ++look_;
    now_ = seconds;
    counted_ = 0;
    latest_ = Timestamp::min();
    for (FlowRanking<FlowRate>& ranked : rankings_) {
        ranked = ranking();
    }
}

void FlowRates::add(const FlowView& flow) {
    ++counted_;
    latest_ = std::max(latest_, flow.end());
    Followed* const known = find(flow);
    if (known != nullptr && known->look == look_) {
        return;  // the cache moved it during the look: it was counted
    }
    rank(flow, growth(flow, known));
    if (known != nullptr) {
        *known = {flow.start(), flow.octets(), flow.packets(), look_};
    } else {
        follow(flow);
    }
}

void FlowRates::end() {
    std::erase_if(followed_, [this](const auto& entry) { return entry.second.look != look_; });
    for (std::size_t order = 0; order < kRateOrders; ++order) {
        best_.at(order).clear();
        rankings_.at(order).drain(
            [&best = best_.at(order)](const FlowRate& rate) { best.push_back(rate); });
    }
    interval_ = before_ ? std::optional(now_ - *before_) : std::nullopt;
    flows_ = counted_;
    before_ = now_;
    latest_before_ = latest_;
    if (counted_ <= most_flows_) {
        least_octets_ = 0;
    } else if (followed_.size() < most_flows_ / 2) {
        least_octets_ /= 2;
    }
}

void FlowRates::forget() {
    followed_.clear();
    before_.reset();
    interval_.reset();
    least_octets_ = 0;
    latest_before_ = Timestamp::min();
}

/// The entry of this flow. A packet that comes late moves a flow's start back.
FlowRates::Followed* FlowRates::find(const FlowView& flow) {
    Followed* late = nullptr;
    const auto [first, last] = followed_.equal_range(flow.core.key);
    for (auto entry = first; entry != last; ++entry) {
        Followed& followed = entry->second;
        if (followed.start == flow.start()) {
            return &followed;
        }
        if (followed.look != look_ && flow.start() < followed.start &&
            flow.octets() >= followed.octets) {
            late = &followed;
        }
    }
    return late;
}

/// @return  octets and packets since the look before; nothing: unknown
std::optional<FlowRates::Counts> FlowRates::growth(const FlowView& flow,
                                                   const Followed* known) const {
    if (!before_) {
        return std::nullopt;
    }
    if (known != nullptr) {
        return Counts{flow.octets() - std::min(flow.octets(), known->octets),
                      flow.packets() - std::min(flow.packets(), known->packets)};
    }
    const bool is_new =
        latest_before_ == Timestamp::min() || flow.start() >= latest_before_ - kSlack;
    return is_new ? std::optional(Counts{flow.octets(), flow.packets()}) : std::nullopt;
}

void FlowRates::follow(const FlowView& flow) {
    if (flow.octets() < least_octets_) {
        return;
    }
    if (followed_.size() >= most_flows_) {
        follow_fewer();
        if (flow.octets() < least_octets_) {
            return;
        }
    }
    if (followed_.size() < most_flows_) {
        followed_.emplace(flow.core.key,
                          Followed{flow.start(), flow.octets(), flow.packets(), look_});
    }
}

/// Makes room: keeps the half with more octets, and of equal ones as many as make up a half.
void FlowRates::follow_fewer() {
    std::vector<WideCount> octets;
    octets.reserve(followed_.size());
    for (const auto& [key, followed] : followed_) {
        octets.push_back(followed.octets);
    }
    const auto middle = octets.begin() + static_cast<std::ptrdiff_t>(octets.size() / 2);
    std::nth_element(octets.begin(), middle, octets.end());
    const WideCount median = *middle;
    std::size_t room = octets.size() / 2;
    room -= std::min<std::size_t>(room, static_cast<std::size_t>(std::count_if(
                                            octets.begin(), octets.end(),
                                            [median](WideCount each) { return each > median; })));
    std::erase_if(followed_, [&room, median](const auto& entry) {
        if (entry.second.octets != median || room == 0) {
            return entry.second.octets <= median;
        }
        --room;
        return false;
    });
    constexpr WideCount kMost = std::numeric_limits<std::uint64_t>::max();
    least_octets_ = static_cast<std::uint64_t>(std::min(median + 1, kMost));
}

void FlowRates::rank(const FlowView& flow, const std::optional<Counts>& grown) {
    const auto add = [&](RateOrder order, WideCount rank) {
        FlowRanking<FlowRate>& ranked = rankings_.at(static_cast<std::size_t>(order));
        if (!ranked.admits(rank)) {
            return;
        }
        FlowRate rate{.flow = flow, .octets_rate = {}, .packets_rate = {}};
        if (grown) {
            const double seconds = std::max(now_ - *before_, 1e-3);
            rate.octets_rate = static_cast<double>(grown->octets) / seconds;
            rate.packets_rate = static_cast<double>(grown->packets) / seconds;
        }
        ranked.add(rank, rate);
    };
    if (grown && grown->packets > 0) {
        add(RateOrder::octet_rate, grown->octets);
        add(RateOrder::packet_rate, grown->packets);
    }
    add(RateOrder::octets, flow.octets());
}

}  // namespace tributary
