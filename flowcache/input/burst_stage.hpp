// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flowcache/input/flow_watcher.hpp"
#include "flowcache/input/frame_burst.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/running_flows.hpp"

namespace tributary {

/// When a stage is called: each sees the marks of those before it.
enum class StageOrder : std::uint8_t {
    inspection,  ///< looks into payloads
    tables,      ///< further flow tables
    triggers,    ///< decide from flows and packets what later stages do
    recorder,
    outlets,
    forwarding,  ///< last: a packet that leaves belongs to the port that sends it
};

/// What a stage is and needs, fixed from its start.
struct StageNeeds {
    std::string name;  ///< in messages
    StageOrder order{};
    bool octets = false;     ///< of the packets, which unified headers do not bring
    std::uint32_t kept = 0;  ///< most buffers that its packets hold at a time
    bool flows = false;      ///< the stage reads or holds the flows of its packets (RunningFlows)
};

/// What one input thread does with each burst beside accounting it. A stage belongs to one queue.
class BurstStage {
public:
    explicit BurstStage(StageNeeds needs) noexcept : needs_(std::move(needs)) {}
    BurstStage(const BurstStage&) = delete;
    BurstStage& operator=(const BurstStage&) = delete;
    /// @thread  main, when no input thread calls it any more. Packets that it kept may still be
    /// held
    virtual ~BurstStage() = default;

    [[nodiscard]] const StageNeeds& needs() const noexcept { return needs_; }

    /// Called once before the first burst, if the stage needs flows and has no watcher(). It may
    /// add a holder.
    ///
    /// @param flows  valid until detach()
    /// @thread       the input thread, between two bursts; main, before the first one
    virtual void attach(RunningFlows& /*flows*/) noexcept {}
    /// Called once after the last burst, where attach() was: other stages follow, or all flows have
    /// ended. Then its holder is removed, and gets no notice of the flows that it still
    /// holds.
    ///
    /// @thread  the input thread, between two bursts; main, if the queue never runs
    virtual void detach() noexcept {}
    /// Called once for each burst, also for an empty one, before its packets are accounted. A stage
    /// with a table of its own may prefetch the entries that on_burst() will touch: the processor
    /// loads them while the input thread accounts the packets in the main table.
    ///
    /// @param burst, packets  as on_burst() gets them next
    /// @thread                the input thread, as on_burst()
    virtual void before_burst(const FrameBurst& /*burst*/,
                              std::span<const KeyedPacket> /*packets*/) noexcept {}
    /// Called once for each burst, also for an empty one, after its packets are accounted.
    ///
    /// @param burst    all frames; the stage may keep some, and mark those that it forwards
    /// @param packets  those that are metered, in the order of their frames; FrameBurst::index_of()
    ///                 of KeyedPacket::packet is the place of the frame
    /// @thread         the input thread: nothing may allocate, lock, throw, log or make a system
    ///                 call; time is that of the burst
    virtual void on_burst(FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept = 0;
    /// A watcher of the queue's main cache. MeterLoop attaches it instead of the stage, and
    /// detaches it when no stage of the next set returns it. At most one stage of a queue has a
    /// watcher, and that stage needs flows.
    ///
    /// @return  nullptr: the stage has none. Each call returns the same
    [[nodiscard]] virtual FlowWatcher* watcher() noexcept { return nullptr; }
    /// Whether the next burst should come at once, also an empty one: the stage has ended flows,
    /// after which more may be due, or its records wait. Called once after each burst.
    ///
    /// @thread  the input thread
    [[nodiscard]] virtual bool has_work() noexcept { return false; }
    /// Ends the records of the stage's own flows, after the last burst and before detach(). Called
    /// again and again until it returns true.
    ///
    /// @param now  the source's clock at the last burst
    /// @return     false: records wait, because their ring is full
    /// @thread     the input thread
    [[nodiscard]] virtual bool drain(Timestamp /*now*/) noexcept { return true; }

private:
    StageNeeds needs_;
};

/// Stages as an input thread calls them.
using StageSpan = std::span<const std::unique_ptr<BurstStage>>;

/// The stages of one queue, in their order.
class StageList {
public:
    StageList() = default;
    /// @param stages  in any order; those of the same StageOrder stay in theirs
    explicit StageList(std::vector<std::unique_ptr<BurstStage>> stages)
        : stages_(std::move(stages)) {
        sort();
    }
    /// Adds one, behind those of the same StageOrder.
    void add(std::unique_ptr<BurstStage> stage) {
        stages_.push_back(std::move(stage));
        sort();
    }

    /// Valid as long as the list, also when it is moved.
    [[nodiscard]] StageSpan stages() const noexcept { return stages_; }
    /// Stages that need flows.
    [[nodiscard]] std::size_t need_flows() const noexcept {
        return static_cast<std::size_t>(std::ranges::count_if(
            stages_,
            [](const std::unique_ptr<BurstStage>& stage) { return stage->needs().flows; }));
    }
    /// Most buffers that the packets of all stages hold at a time.
    [[nodiscard]] std::uint64_t kept() const noexcept {
        return std::accumulate(stages_.begin(), stages_.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const std::unique_ptr<BurstStage>& stage) {
                                   return sum + stage->needs().kept;
                               });
    }

private:
    void sort() {
        std::ranges::stable_sort(stages_, {}, [](const std::unique_ptr<BurstStage>& stage) {
            return stage->needs().order;
        });
    }

    std::vector<std::unique_ptr<BurstStage>> stages_;
};

}  // namespace tributary
