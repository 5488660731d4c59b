// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <optional>
#include <span>

#include "flowcache/flow_holders.hpp"
#include "flowcache/hot_entry.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_record.hpp"
#include "parsers/packet.hpp"

namespace tributary {

/// The flows of one queue's cache, for classes that are no templates over the size of its records:
/// the stages of the queue. FlowCache has functions of the same names, and says more of them.
///
/// @thread  the thread that owns the cache; nothing allocates
/// @cost    a virtual call, and what the cache's function costs
class RunningFlows {
public:
    /// Most holders at a time. A cache has ids for twice as many, so that new holders of a
    /// reload find some while the flows of the former ones are let go.
    static constexpr std::size_t kMostHolders = FlowHolders::kMost / 2;

    RunningFlows() = default;
    RunningFlows(const RunningFlows&) = delete;
    RunningFlows& operator=(const RunningFlows&) = delete;

    /// Entries of the cache, entries_for() its options: FlowHandle::entry is below.
    [[nodiscard]] virtual std::size_t entries() const noexcept = 0;
    /// Of the records of all flows.
    [[nodiscard]] virtual const RecordLayout& layout() const noexcept = 0;

    // begun() is for on_burst() alone, flow_of() also for FlowWatcher::on_packet() and its packet.
    // In a notice packets of the burst may not be accounted yet.
    /// The packets of the burst that began their flow, in the order of the metered packets.
    [[nodiscard]] virtual PacketMask begun() const noexcept = 0;
    /// @param packet  metered, of the burst
    /// @return        nothing: the flow has ended since, in the same burst
    [[nodiscard]] virtual std::optional<FlowHandle> flow_of(
        const KeyedPacket& packet) const noexcept = 0;
    [[nodiscard]] virtual bool is_running(FlowHandle flow) const noexcept = 0;
    /// The record that the flow has so far, as it would be exported: FlowRecord of the layout, of a
    /// biflow from its initiator. It has the packets of the burst, in on_packet() up to that one,
    /// unless they are in a record that has ended; the reason of its end is `none`.
    ///
    /// @return  valid until the next call, also of another stage. Empty: the flow has ended, or is
    ///          between two records
    /// @cost    the record is copied, with all its groups
    [[nodiscard]] virtual std::span<const std::byte> record_of(FlowHandle flow) noexcept = 0;

    /// From now on the holder may hold flows. A stage that needs flows may add one holder, which
    /// stays until the stage is detached.
    ///
    /// @return  nothing: each stage that may add a holder has done so
    [[nodiscard]] virtual std::optional<HolderId> add_holder(FlowHolder& holder) noexcept = 0;
    /// @return  false: the flow has ended, or there is no such holder
    [[nodiscard]] virtual bool hold(FlowHandle flow, HolderId id) noexcept = 0;
    virtual void let_go(FlowHandle flow, HolderId id) noexcept = 0;
    [[nodiscard]] virtual bool is_held_by(FlowHandle flow, HolderId id) const noexcept = 0;

protected:
    ~RunningFlows() = default;
};

/// The flows of a FlowCache. It knows the holders that were added through it, and removes them all
/// at once, so that no stage that is gone gets a notice.
///
/// @thread  the thread that owns the cache
template <class Cache>
class CacheFlows final : public RunningFlows {
public:
    /// @param cache  outlives this
    explicit CacheFlows(Cache& cache) noexcept : cache_(cache) {}
    CacheFlows(const CacheFlows&) = delete;
    CacheFlows& operator=(const CacheFlows&) = delete;

    /// Lets go all flows: removes all holders. From now on so many others may be added.
    ///
    /// @param most  at most kMostHolders. The cache had room for so many beside the present ones
    void replace_holders(std::size_t most) noexcept {
        for (FlowHolders::Mask left = added_; left != 0;
             left &= static_cast<FlowHolders::Mask>(left - 1)) {
            cache_.remove_holder(HolderId{static_cast<std::uint8_t>(std::countr_zero(left))});
        }
        added_ = 0;
        most_ = most;
    }

    [[nodiscard]] std::size_t entries() const noexcept override { return cache_.capacity(); }
    [[nodiscard]] const RecordLayout& layout() const noexcept override { return cache_.layout(); }
    [[nodiscard]] PacketMask begun() const noexcept override { return cache_.begun(); }
    [[nodiscard]] std::optional<FlowHandle> flow_of(
        const KeyedPacket& packet) const noexcept override {
        return cache_.flow_of(packet);
    }
    [[nodiscard]] bool is_running(FlowHandle flow) const noexcept override {
        return cache_.is_running(flow);
    }
    [[nodiscard]] std::span<const std::byte> record_of(FlowHandle flow) noexcept override {
        return cache_.copy_record(flow, record_) ? std::as_bytes(std::span(&record_, 1))
                                                 : std::span<const std::byte>();
    }

    [[nodiscard]] std::optional<HolderId> add_holder(FlowHolder& holder) noexcept override {
        if (static_cast<std::size_t>(std::popcount(added_)) >= most_) {
            return std::nullopt;
        }
        const std::optional<HolderId> id = cache_.add_holder(holder);
        if (id) {
            added_ |= static_cast<FlowHolders::Mask>(1U << id->value);
        }
        return id;
    }
    [[nodiscard]] bool hold(FlowHandle flow, HolderId id) noexcept override {
        return cache_.hold(flow, id);
    }
    void let_go(FlowHandle flow, HolderId id) noexcept override { cache_.let_go(flow, id); }
    [[nodiscard]] bool is_held_by(FlowHandle flow, HolderId id) const noexcept override {
        return cache_.is_held_by(flow, id);
    }

private:
    Cache& cache_;
    FlowHolders::Mask added_ = 0;  ///< a bit for each HolderId
    std::size_t most_ = 0;
    typename Cache::Record record_{};  ///< of record_of()
};

}  // namespace tributary
