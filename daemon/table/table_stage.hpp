// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>

#include "daemon/table/table_queue.hpp"
#include "flowcache/input/burst_stage.hpp"

namespace tributary {

/// Has a queue's packets accounted in a declared table.
class TableStage final : public BurstStage {
public:
    /// @param queue  outlives the stage: its flows stay when other stages follow
    /// @param needs  a name for messages, and whether the table reads octets of packets
    TableStage(TableQueue& queue, StageNeeds needs) noexcept
        : BurstStage(std::move(needs)), queue_(queue) {}

    void before_burst(const FrameBurst& burst,
                      std::span<const KeyedPacket> packets) noexcept override {
        queue_.match(burst, packets);
    }
    void on_burst(FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept override {
        queue_.account(burst, packets);
    }
    [[nodiscard]] bool has_work() noexcept override { return queue_.has_work(); }
    [[nodiscard]] bool drain(Timestamp now) noexcept override { return queue_.drain(now); }

private:
    TableQueue& queue_;
};

/// Accounts what other queues send to a queue of a table with `spread: key`, before the queue's own
/// packets are the table's.
class ReceivingTableStage final : public BurstStage {
public:
    /// @param queue  outlives the stage
    ReceivingTableStage(TableQueue& queue, StageNeeds needs) noexcept
        : BurstStage(std::move(needs)), queue_(queue) {}

    void on_burst(FrameBurst& burst, std::span<const KeyedPacket> /*packets*/) noexcept override {
        queue_.account(burst, {});
    }
    [[nodiscard]] bool has_work() noexcept override { return queue_.has_work(); }
    [[nodiscard]] bool drain(Timestamp now) noexcept override { return queue_.drain(now); }

private:
    TableQueue& queue_;
};

/// Ends a queue's flows of a table that was taken away.
class EndingTableStage final : public BurstStage {
public:
    /// @param queue  outlives the stage
    EndingTableStage(TableQueue& queue, StageNeeds needs) noexcept
        : BurstStage(std::move(needs)), queue_(queue) {}

    void on_burst(FrameBurst& burst, std::span<const KeyedPacket> /*packets*/) noexcept override {
        queue_.end_some(burst);
    }
    [[nodiscard]] bool has_work() noexcept override { return !queue_.has_ended(); }
    [[nodiscard]] bool drain(Timestamp now) noexcept override { return queue_.drain(now); }

private:
    TableQueue& queue_;
};

}  // namespace tributary
