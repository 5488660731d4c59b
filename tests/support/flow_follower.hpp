// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flowcache/running_flows.hpp"

namespace tributary::test {

/// Holds each nth flow that begins, and counts its packets. After each burst it checks that the
/// cache has counted the same, and at each notice that it holds the flow. It keeps a text of each
/// fault.
class FlowFollower final : public FlowHolder {
public:
    /// @param one_in   n; 1: each flow
    /// @param entries  of the cache
    FlowFollower(std::size_t one_in, std::size_t entries) : one_in_(one_in), followed_(entries) {}

    void attach(RunningFlows& flows) noexcept {
        demand(flows_ == nullptr, "attached twice");
        demand(flows.entries() == followed_.size(), "a cache of another size");
        flows_ = &flows;
        id_ = flows.add_holder(*this);
        demand(id_.has_value(), "no room for its holder");
    }
    /// From now on a notice is a fault.
    void detach() noexcept {
        demand(flows_ != nullptr, "detached twice");
        flows_ = nullptr;
    }
    [[nodiscard]] bool is_attached() const noexcept { return flows_ != nullptr; }

    /// @param packets  that were accounted just now, at most kBurstPackets
    void on_burst(std::span<const KeyedPacket> packets) noexcept {
        for (PacketMask left = flows_->begun(); left != 0; left &= left - 1) {
            begin(packets[static_cast<std::size_t>(std::countr_zero(left))]);
        }
        for (const KeyedPacket& packet : packets) {
            if (Followed* const flow = followed(flows_->flow_of(packet))) {
                flow->counted += {0, 1, packet.fields->ip_bytes};
            }
        }
        for (const KeyedPacket& packet : packets) {
            compare(flows_->flow_of(packet));
        }
    }
    void record_ended(FlowHandle flow, FlowEndReason /*reason*/,
                      std::span<const std::byte> record) noexcept override {
        Followed* const held = noticed(flow);
        if (held != nullptr) {
            demand(flows_->record_of(flow).empty(), "a record that has ended goes on");
            held->ended += tally_of(record.data(), flows_->layout());
            ++record_ends;
        }
    }
    void flow_ended(FlowHandle flow, FlowEndReason /*reason*/) noexcept override {
        Followed* const held = noticed(flow);
        if (held != nullptr) {
            demand(!flows_->is_running(flow), "a flow that has ended runs");
            demand(held->ended.packets >= held->counted.packets, "a record without its packets");
            held->is_held = false;
            ++flow_ends;
        }
    }

    std::string fault;  ///< the first; empty: none
    std::uint64_t flows_held = 0;
    std::uint64_t record_ends = 0;  ///< notices
    std::uint64_t flow_ends = 0;    ///< notices
    std::uint64_t gone = 0;         ///< flows that ended in the burst in which they began
    std::uint64_t compared = 0;     ///< packets after which the flow's record was looked at

private:
    struct Followed {
        std::uint32_t generation = 0;
        bool is_held = false;
        RecordTally counted;  ///< packets that came
        RecordTally ended;    ///< of records that have ended
    };

    void demand(bool holds, const char* what) noexcept {
        if (!holds && fault.empty()) {
            fault = what;
        }
    }
    void begin(const KeyedPacket& first) noexcept {
        const std::optional<FlowHandle> flow = flows_->flow_of(first);
        gone += flow ? 0 : 1;
        if (!flow || ++begun_ % one_in_ != 0) {
            return;
        }
        demand(!flows_->is_held_by(*flow, *id_), "a flow that begins is held");
        demand(flows_->hold(*flow, *id_), "a flow that runs was not held");
        demand(flows_->is_held_by(*flow, *id_), "a flow that is held is not");
        Followed& held_flow = followed_[flow->entry];
        demand(!held_flow.is_held, "a flow has ended without a notice");
        held_flow = {.generation = flow->generation, .is_held = true, .counted = {}, .ended = {}};
        ++flows_held;
    }
    void compare(const std::optional<FlowHandle>& flow) noexcept {
        const Followed* const held_flow = followed(flow);
        if (held_flow == nullptr) {
            return;
        }
        RecordTally all = held_flow->ended;
        const std::span<const std::byte> record = flows_->record_of(*flow);
        if (!record.empty()) {
            demand(record.size() == record_size(flows_->layout()), "a record of another size");
            all += tally_of(record.data(), flows_->layout());
        }
        demand(all.packets == held_flow->counted.packets && all.octets == held_flow->counted.octets,
               "a record has other counts than its flow's packets");
        ++compared;
    }
    /// @return  nullptr: none that it holds
    [[nodiscard]] Followed* followed(const std::optional<FlowHandle>& flow) noexcept {
        if (!flow) {
            return nullptr;
        }
        Followed& at = followed_[flow->entry];
        return at.is_held && at.generation == flow->generation ? &at : nullptr;
    }
    /// The flow of a notice.
    [[nodiscard]] Followed* noticed(FlowHandle flow) noexcept {
        demand(flows_ != nullptr, "a notice after the detachment");
        Followed* const held_flow = flows_ == nullptr ? nullptr : followed(flow);
        demand(held_flow != nullptr, "a notice of a flow that is not held");
        return held_flow;
    }

    std::size_t one_in_;
    std::uint64_t begun_ = 0;
    RunningFlows* flows_ = nullptr;
    std::optional<HolderId> id_;
    std::vector<Followed> followed_;  ///< of each entry
};

}  // namespace tributary::test
