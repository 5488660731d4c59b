// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flowcache/cache_room.hpp"
#include "flowcache/flow_cache.hpp"

namespace tributary::test {

/// Holders of a cache's flows with a model of who holds what, which judges each notice: whether it
/// is due, and whether a due one comes. The holder `kAll` must hold every flow from its first
/// packet on: its notices say what the others are due. A fault is kept in words.
template <class Cache>
class HeldFlows {
public:
    static constexpr std::size_t kAll = 0;

    HeldFlows(Cache& cache, const FlowCacheOptions& options)
        : cache_(cache), held_(entries_for(options)) {
        add(kAll);
    }

    /// Adds the holder number `holder`, which must not be there. @return  whether there was room
    bool add(std::size_t holder) {
        auto added = std::make_unique<Holder>(*this, holder);
        const std::optional<HolderId> id = cache_.add_holder(*added);
        if (id) {
            demand(!ids_[holder] && id->value < FlowHolders::kMost, "a number that is taken");
            holders_[holder] = std::move(added);
            ids_[holder] = id;
        }
        return id.has_value();
    }
    void remove(std::size_t holder) {
        cache_.remove_holder(*ids_[holder]);
        ids_[holder].reset();
        removed_.push_back(std::move(holders_[holder]));  // it may be in the middle of a notice
        for (Held& held : held_) {
            held.holders &= ~bit(holder);
        }
        due_ &= ~bit(holder);
    }
    [[nodiscard]] bool has(std::size_t holder) const { return ids_[holder].has_value(); }

    void hold(FlowHandle flow, std::size_t holder) {
        const bool is_held = cache_.hold(flow, *ids_[holder]);
        demand(is_held == is_known(flow),
               "a flow that runs was not held, or one that does not was");
        if (is_held) {
            held_[flow.entry].holders |= bit(holder);
        }
    }
    void let_go(FlowHandle flow, std::size_t holder) {
        cache_.let_go(flow, *ids_[holder]);
        if (is_known(flow)) {
            held_[flow.entry].holders &= ~bit(holder);
            due_ &= flow.entry == due_flow_.entry ? ~bit(holder) : ~0U;
        }
    }
    /// After account(): `kAll` holds the flows that packets have just begun.
    ///
    /// @param packets  of that burst
    void hold_begun(std::span<const KeyedPacket> packets) {
        for (PacketMask left = cache_.begun(); left != 0; left &= left - 1) {
            const auto packet = static_cast<std::size_t>(std::countr_zero(left));
            const auto flow = cache_.flow_of(packets[packet]);
            if (flow) {
                held_[flow->entry] = {flow->generation, true, 0};
                hold(*flow, kAll);
            } else {
                ++ended_in_burst;
            }
        }
    }
    /// Between two calls of the cache: each notice that was due must have come.
    void check() { demand(due_ == 0, "a holder has missed a notice"); }
    /// Whether the cache agrees about who holds a flow.
    void check(FlowHandle flow) {
        for (std::size_t holder = 0; holder < ids_.size(); ++holder) {
            const bool is_held = is_known(flow) && (held_[flow.entry].holders & bit(holder)) != 0;
            demand(!ids_[holder] || cache_.is_held_by(flow, *ids_[holder]) == is_held,
                   "the cache takes another for a flow's holder");
        }
    }
    /// The same of all flows that run.
    void check_all() {
        for (std::size_t entry = 0; entry < held_.size(); ++entry) {
            if (held_[entry].is_running) {
                check({static_cast<EntryIndex>(entry), held_[entry].generation});
            }
        }
    }
    /// Flows that `kAll` holds.
    [[nodiscard]] std::size_t count() const {
        return static_cast<std::size_t>(
            std::ranges::count_if(held_, [](const Held& held) { return held.is_running; }));
    }

    std::string fault;                 ///< the first; empty: none
    std::uint64_t records = 0;         ///< notices to `kAll`
    std::uint64_t flows = 0;           ///< the same of ends of flows
    std::uint64_t to_others = 0;       ///< notices to all others
    std::uint64_t ended_in_burst = 0;  ///< flows that ended in the burst in which they began
    std::array<std::uint64_t, kFlowEndReasonCount> reasons{};  ///< of the records
    /// Records as `kAll` was told of them, the oldest first; the caller takes them away.
    std::deque<typename Cache::Record> told;
    /// Is called in each notice to a holder other than `kAll`: number of the holder, and the flow.
    std::function<void(std::size_t, FlowHandle)> in_notice;

private:
    struct Held {
        std::uint32_t generation = 0;
        bool is_running = false;
        std::uint32_t holders = 0;  ///< one bit each
    };
    class Holder final : public FlowHolder {
    public:
        Holder(HeldFlows& flows, std::size_t number) : flows_(flows), number_(number) {}
        void record_ended(FlowHandle flow, FlowEndReason reason,
                          std::span<const std::byte> record) noexcept override {
            flows_.on_record(number_, flow, reason, record);
        }
        void flow_ended(FlowHandle flow, FlowEndReason reason) noexcept override {
            flows_.on_flow(number_, flow, reason);
        }

    private:
        HeldFlows& flows_;
        std::size_t number_;
    };

    [[nodiscard]] static std::uint32_t bit(std::size_t holder) { return 1U << holder; }
    void demand(bool holds, const char* what) {
        if (!holds && fault.empty()) {
            fault = what;
        }
    }
    [[nodiscard]] bool is_known(FlowHandle flow) const {
        return flow.entry < held_.size() && held_[flow.entry].is_running &&
               held_[flow.entry].generation == flow.generation;
    }
    void on_record(std::size_t holder, FlowHandle flow, FlowEndReason reason,
                   std::span<const std::byte> record) {
        take(holder, flow);
        if (holder == kAll) {
            told.emplace_back();
            demand(record.size() == sizeof told.back(), "a record of another size");
            std::memcpy(static_cast<void*>(&told.back()), record.data(), sizeof told.back());
            demand(told.back().core.end_reason == reason, "another reason than the record's");
            ++records;
            ++reasons[static_cast<std::size_t>(reason)];
        } else if (in_notice) {
            in_notice(holder, flow);
        }
    }
    void on_flow(std::size_t holder, FlowHandle flow, FlowEndReason /*reason*/) {
        if (holder == kAll) {
            demand(!cache_.is_running(flow), "a flow that has ended runs");
        }
        take(holder, flow);
        if (holder == kAll) {
            held_[flow.entry].is_running = false;
            ++flows;
        } else if (in_notice) {
            in_notice(holder, flow);
        }
    }
    /// A holder gets a notice.
    void take(std::size_t holder, FlowHandle flow) {
        const Held& held = held_[flow.entry];
        demand(held.generation == flow.generation && !flow.is_swapped, "a notice of another flow");
        demand((held.holders & bit(holder)) != 0, "a notice of a flow that is not held");
        if (holder == kAll) {
            demand(due_ == 0, "a holder has missed a notice");
            due_ = held.holders & ~bit(kAll);
            due_flow_ = flow;
            return;
        }
        demand((due_ & bit(holder)) != 0 && due_flow_ == flow, "a notice twice");
        due_ &= ~bit(holder);
        ++to_others;
    }

    Cache& cache_;
    std::vector<Held> held_;  ///< of each entry
    std::array<std::unique_ptr<Holder>, FlowHolders::kMost> holders_;
    std::array<std::optional<HolderId>, FlowHolders::kMost> ids_;
    std::vector<std::unique_ptr<Holder>> removed_;
    std::uint32_t due_ = 0;  ///< holders that have to get the present notice
    FlowHandle due_flow_;
};

}  // namespace tributary::test
