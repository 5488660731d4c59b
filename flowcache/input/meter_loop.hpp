// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

#include "flowcache/flow_cache.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/flow_watcher.hpp"
#include "flowcache/input/packet_reader.hpp"
#include "flowcache/keyed_burst.hpp"
#include "flowcache/record/record_stream.hpp"
#include "flowcache/running_flows.hpp"
#include "parsers/packet.hpp"

namespace tributary {

/// A worker's clock for other threads. No record that a thread gets from the worker ends later than
/// the time that it reads here, unless the clock has gone back since.
class PublishedClock {
public:
    /// @thread  the worker, before it hands on records of the burst at `now`
    void publish(Timestamp now) noexcept {
        nanoseconds_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    }
    /// @thread  any. The ring's release and acquire order this store before the records that follow
    /// it.
    [[nodiscard]] Timestamp read() const noexcept {
        return Timestamp{Timestamp::duration{nanoseconds_.load(std::memory_order_relaxed)}};
    }

private:
    std::atomic<Timestamp::rep> nanoseconds_{0};
};

/// The packet path of one queue: from its PacketReader through its private flow cache to its sink,
/// and past its stages. One thread owns it and calls step() again and again; nothing in it waits,
/// allocates or throws, unless the source or sink does.
template <class Cache, RecordSink<typename Cache::Record> Sink>
class MeterLoop {
public:
    /// All of them outlive the loop.
    MeterLoop(PacketReader& reader, Cache& cache, Sink& sink, PublishedClock& clock) noexcept
        : keyed_(cache.burst()),
          reader_(reader),
          cache_(cache),
          sink_(sink),
          clock_(clock),
          flows_(cache),
          watched_(cache) {}

    /// One burst, start to finish: receive, filter and parse; account; stages; release; expire.
    ///
    /// Inlined into its one caller, a virtual function.
    ///
    /// @return  packets received; 0 lets the caller back off
    [[gnu::always_inline]] std::size_t step() noexcept {
        ParsedBurst parsed = reader_.read_burst(keyed_);
        clock_.publish(parsed.burst.now);
        for (const std::unique_ptr<BurstStage>& stage : stages_) {
            stage->before_burst(parsed.burst, parsed.packets);
        }
        account_watched(cache_, parsed.packets, sink_, watcher_);
        for (const std::unique_ptr<BurstStage>& stage : stages_) {
            stage->on_burst(parsed.burst, parsed.packets);
        }
        reader_.release(parsed.burst);
        cache_.expire_some(parsed.burst.now, kExpiryBudget, sink_);
        return parsed.received;
    }

    /// From the next step() on these stages are called, in their order. They are attached here, and
    /// those before them detached; what these held is let go. A FlowWatcher that old and new ones
    /// have in common stays, with all that it holds.
    ///
    /// @param stages  outlive the loop, or its next set_stages(). At most
    ///                RunningFlows::kMostHolders of them need flows, and then the cache's flows can
    ///                be held
    /// @return        false: nothing has changed yet, because too many stages came and went lately,
    ///                and flows are still marked as theirs. Call it again
    /// @thread        the one that calls step(), or before the first one
    [[nodiscard]] bool set_stages(StageSpan stages) noexcept {
        FlowWatcher* const watcher = watcher_of(stages);
        const bool is_same = watcher == watcher_;
        const auto attached = static_cast<std::size_t>(std::ranges::count_if(stages, is_attached));
        const std::size_t of_watcher = watcher == nullptr || is_same ? 0 : 1;
        if (!cache_.make_room_for_holders(attached + of_watcher)) {
            return false;
        }
        detach_stages();
        flows_.replace_holders(attached);
        stages_ = stages;
        for (const std::unique_ptr<BurstStage>& stage : stages_) {
            if (is_attached(stage)) {
                stage->attach(flows_);
            }
        }
        if (!is_same) {
            replace_watcher(watcher);
        }
        return true;
    }

    /// Whether a stage wants the next step() at once. Call it once after each step().
    [[nodiscard]] bool stages_have_work() noexcept {
        bool has_work = false;
        for (const std::unique_ptr<BurstStage>& stage : stages_) {
            has_work = stage->has_work() || has_work;
        }
        return has_work;
    }

    /// Ends all records, after the last step(), also those of the stages, and then detaches these.
    /// Call it until it returns true.
    [[nodiscard]] bool drain() noexcept {
        bool is_through = cache_.end_all(clock_.read(), sink_);
        for (const std::unique_ptr<BurstStage>& stage : stages_) {
            is_through = stage->drain(clock_.read()) && is_through;
        }
        if (is_through) {
            detach_all();
        }
        return is_through;
    }
    /// Detaches the stages and the watcher, and calls none any more.
    void detach_all() noexcept {
        detach_stages();
        replace_watcher(nullptr);
    }

private:
    [[nodiscard]] static FlowWatcher* watcher_of(StageSpan stages) noexcept {
        for (const std::unique_ptr<BurstStage>& stage : stages) {
            if (FlowWatcher* const watcher = stage->watcher(); watcher != nullptr) {
                return watcher;
            }
        }
        return nullptr;
    }
    /// Where a stage has a watcher, this is attached instead.
    [[nodiscard]] static bool is_attached(const std::unique_ptr<BurstStage>& stage) noexcept {
        return stage->needs().flows && stage->watcher() == nullptr;
    }
    void detach_stages() noexcept {
        for (const std::unique_ptr<BurstStage>& stage : stages_) {
            if (is_attached(stage)) {
                stage->detach();
            }
        }
        flows_.replace_holders(0);
        stages_ = {};
    }
    void replace_watcher(FlowWatcher* watcher) noexcept {
        if (watcher_ != nullptr) {
            watcher_->detach();
        }
        watched_.replace_holders(watcher != nullptr ? 1 : 0);
        watcher_ = watcher;
        if (watcher_ != nullptr) {
            watcher_->attach(watched_);
        }
    }

    KeyedBurst keyed_;
    StageSpan stages_;
    PacketReader& reader_;
    Cache& cache_;
    Sink& sink_;
    PublishedClock& clock_;
    FlowWatcher* watcher_ = nullptr;  ///< of a stage
    CacheFlows<Cache> flows_;         ///< for the stages
    CacheFlows<Cache> watched_;       ///< for the watcher, which may outlive them
};

}  // namespace tributary
