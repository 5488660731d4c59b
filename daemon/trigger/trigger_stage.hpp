// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/flow_watcher.hpp"

namespace tributary {

/// Has the triggers of the main table look at the flows of a queue.
class TriggerStage final : public BurstStage {
public:
    /// @param watcher  outlives the queue, and with it the stage
    explicit TriggerStage(FlowWatcher& watcher)
        : BurstStage({.name = "triggers", .order = StageOrder::triggers, .flows = true}),
          watcher_(watcher) {}

    [[nodiscard]] FlowWatcher* watcher() noexcept override { return &watcher_; }
    void on_burst(FrameBurst& /*burst*/,
                  std::span<const KeyedPacket> /*packets*/) noexcept override {}

private:
    FlowWatcher& watcher_;
};

}  // namespace tributary
