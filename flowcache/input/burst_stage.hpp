// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flowcache/input/frame_burst.hpp"
#include "flowcache/keyed_packet.hpp"

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

    /// Called once for each burst, also for an empty one, after its packets are accounted.
    ///
    /// @param burst    all frames; the stage may keep some, and mark those that it forwards
    /// @param packets  those that are metered, in the order of their frames; FrameBurst::index_of()
    ///                 of KeyedPacket::packet is the place of the frame
    /// @thread         the input thread: nothing may allocate, lock, throw, log or make a system
    ///                 call; time is that of the burst
    virtual void on_burst(FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept = 0;

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
        std::ranges::stable_sort(stages_, {}, [](const std::unique_ptr<BurstStage>& stage) {
            return stage->needs().order;
        });
    }

    /// Valid as long as the list, also when it is moved.
    [[nodiscard]] StageSpan stages() const noexcept { return stages_; }
    /// Most buffers that the packets of all stages hold at a time.
    [[nodiscard]] std::uint64_t kept() const noexcept {
        return std::accumulate(stages_.begin(), stages_.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const std::unique_ptr<BurstStage>& stage) {
                                   return sum + stage->needs().kept;
                               });
    }

private:
    std::vector<std::unique_ptr<BurstStage>> stages_;
};

}  // namespace tributary
