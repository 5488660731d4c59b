// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "flowcache/input/burst_stage.hpp"

namespace tributary::test {

/// A stage that calls a function.
class TestStage final : public BurstStage {
public:
    using Work = std::function<void(FrameBurst&, std::span<const KeyedPacket>)>;

    TestStage(StageNeeds needs, Work work, std::function<void()> on_end = {})
        : BurstStage(std::move(needs)), work_(std::move(work)), on_end_(std::move(on_end)) {}
    ~TestStage() override {
        if (on_end_) {
            on_end_();
        }
    }
    TestStage(const TestStage&) = delete;
    TestStage& operator=(const TestStage&) = delete;

    void on_burst(FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept override {
        work_(burst, packets);
    }

private:
    Work work_;
    std::function<void()> on_end_;
};

/// A list of one stage.
inline StageList one_stage(StageNeeds needs, TestStage::Work work,
                           std::function<void()> on_end = {}) {
    std::vector<std::unique_ptr<BurstStage>> stages;
    stages.push_back(
        std::make_unique<TestStage>(std::move(needs), std::move(work), std::move(on_end)));
    return StageList(std::move(stages));
}

}  // namespace tributary::test
