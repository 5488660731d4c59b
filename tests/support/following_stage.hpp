// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "flowcache/input/burst_stage.hpp"
#include "tests/support/flow_follower.hpp"

namespace tributary::test {

/// A stage that has a follower follow the flows of its queue.
class FollowingStage final : public BurstStage {
public:
    /// @param follower   outlives the stage, and sees what comes after its end
    /// @param on_detach  is called then
    explicit FollowingStage(FlowFollower& follower, std::function<void()> on_detach = {})
        : BurstStage({.name = "following", .order = StageOrder::triggers, .flows = true}),
          follower_(follower),
          on_detach_(std::move(on_detach)) {}

    void attach(RunningFlows& flows) noexcept override { follower_.attach(flows); }
    void detach() noexcept override {
        follower_.detach();
        if (on_detach_) {
            on_detach_();
        }
    }
    void on_burst(FrameBurst& /*burst*/, std::span<const KeyedPacket> packets) noexcept override {
        follower_.on_burst(packets);
    }

private:
    FlowFollower& follower_;
    std::function<void()> on_detach_;
};

}  // namespace tributary::test
