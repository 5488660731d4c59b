// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/listing/flow_ranking.hpp"
#include "export/messages/flow_view.hpp"
#include "flowcache/record/flow_key.hpp"

namespace tributary {

/// The rates of a running flow between two looks; both directions of a biflow.
struct FlowRate {
    FlowView flow;                       ///< as in the latest look
    std::optional<double> octets_rate;   ///< nothing: the look before did not have it
    std::optional<double> packets_rate;  ///< the same
};

enum class RateOrder : std::uint8_t {
    octet_rate,   ///< octets per second since the look before
    packet_rate,  ///< packets per second since the look before
    octets,       ///< octets since the flow began
};
inline constexpr std::size_t kRateOrders = 3;

/// Finds the flows with the highest rates: two looks at all running flows, matched by key and
/// start.
/// start.
///
///     begin(10.0)  add(flow) ...  end()     the first look: no rates yet
///     begin(12.0)  add(flow) ...  end()     rates are differences by two seconds
///
/// A flow that the look before did not have, and that began after it, has sent all its octets since
/// then. A flow that began earlier (the cache moved it, or it was not followed) has no rate yet.
///
/// At most `most_flows` flows are followed: if more run, those with more octets. least_octets() is
/// the lower bound then: a flow that reaches it has a rate one look later.
/// @thread  one
/// @cost    some 110 octets of memory for each flow that is followed
class FlowRates {
public:
    static constexpr std::size_t kMostFlows = std::size_t{1} << 20U;

    /// @param limit       flows in each order
    /// @param most_flows  that are followed; at least 2
    explicit FlowRates(std::size_t limit, std::size_t most_flows = kMostFlows)
        : limit_(limit), most_flows_(most_flows), rankings_{ranking(), ranking(), ranking()} {}

    /// @param seconds  of a clock that is never set
    void begin(double seconds);
    void add(const FlowView& flow);
    /// The look is whole: its flows are available, and the next look is compared with them.
    void end();
    /// The next look has nothing to be compared with: it is another probe's, or this one was cut.
    void forget();

    /// The best of the latest whole look, at most `limit`. By a rate, only flows that have sent
    /// octets or packets.
    [[nodiscard]] const std::vector<FlowRate>& best(RateOrder order) const {
        return best_.at(static_cast<std::size_t>(order));
    }
    /// Flows that the latest whole look had.
    [[nodiscard]] std::uint64_t flows() const noexcept { return flows_; }
    /// Seconds between the latest two whole looks; nothing: there is one, or none.
    [[nodiscard]] std::optional<double> interval() const noexcept { return interval_; }
    /// Flows with fewer octets are not followed; 0: all are.
    [[nodiscard]] std::uint64_t least_octets() const noexcept { return least_octets_; }

private:
    struct Followed {
        Timestamp start;
        WideCount octets;
        WideCount packets;
        std::uint32_t look;  ///< the last one that had it
    };
    struct KeyHash {
        std::size_t operator()(const FlowKey& key) const noexcept {
            return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&key), sizeof key});
        }
    };
    /// Two queues may each have a flow of one key.
    using Flows = std::unordered_multimap<FlowKey, Followed, KeyHash>;
    struct Counts {
        WideCount octets;
        WideCount packets;
    };

    [[nodiscard]] FlowRanking<FlowRate> ranking() const { return FlowRanking<FlowRate>(limit_); }
    [[nodiscard]] Followed* find(const FlowView& flow);
    [[nodiscard]] std::optional<Counts> growth(const FlowView& flow, const Followed* known) const;
    void follow(const FlowView& flow);
    void follow_fewer();
    void rank(const FlowView& flow, const std::optional<Counts>& grown);

    std::size_t limit_;
    std::size_t most_flows_;
    Flows followed_;
    std::uint32_t look_ = 0;
    std::optional<double> before_;  ///< when the look before began; nothing: there is none
    double now_ = 0;                ///< when this look began
    Timestamp latest_before_ = Timestamp::min();  ///< latest packet time of the look before
    Timestamp latest_ = Timestamp::min();
    std::uint64_t counted_ = 0;  ///< by this look
    std::uint64_t flows_ = 0;
    std::optional<double> interval_;
    std::uint64_t least_octets_ = 0;
    std::array<FlowRanking<FlowRate>, kRateOrders> rankings_;
    std::array<std::vector<FlowRate>, kRateOrders> best_;
};

}  // namespace tributary
