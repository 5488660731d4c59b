// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/recorder/packet_ring.hpp"
#include "daemon/recorder/recorder_rules.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/filter_slot.hpp"
#include "flowcache/record/counter.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/running_flows.hpp"

namespace tributary {

/// What became of the frames of one queue. Written by the input thread, read by any.
///
///     seen     = kept whole + kept cut + left out
///     left out = by the input + filtered + filter not ready
struct RecorderCounters {
    Counter seen;              ///< frames that came to the queue
    Counter kept_whole;        ///< all that came of the frame
    Counter kept_cut;          ///< by snap, cutoff, or because it is longer than the ring keeps
    Counter kept_octets;       ///< of frames
    Counter left_by_input;     ///< by the input's filter or sampling, without all-frames
    Counter filtered;          ///< by the recorder's own filter
    Counter filter_not_ready;  ///< they came before that filter could decide
};

/// One queue's part of the recorder, beside its stage, which a reload replaces.
struct RecorderQueue {
    /// @param flow_entries  of the queue's cache, entries_for() its options
    /// @errors              MemoryShortage, std::bad_alloc
    RecorderQueue(std::size_t ring_octets, std::size_t flow_entries, const RecorderRules& rules,
                  std::optional<unsigned> numa_node, PageUse pages);

    PacketRing ring;
    RecorderCounters counters;
    /// Octets of payload that came of each direction of a flow, up to the cut-off; by the entry of
    /// the flow, of biflows first those of packets in the direction of the canonical key. Empty
    /// without a cut-off. Of the input thread.
    using Payload = std::array<std::uint32_t, 2>;
    std::optional<NumaMemory> payload_memory;
    std::span<Payload> payload;
};

/// Keeps the frames of a queue in its ring.
///
/// A frame is kept in the order in which it came, after its burst was accounted. One of several
/// segments is put together first.
///
/// @cost  one copy of what is kept, and some 50 instructions for a metered packet's hashes; with
///        SnapMode::headers or a cut-off its headers are located
class RecorderStage final : public BurstStage {
public:
    /// @param queue   outlives the stage
    /// @param rules   copied
    /// @param filter  that frames must pass; nullptr: there is none. It outlives the stage
    /// @param hasher  of the process: a flow has one hash in all queues
    RecorderStage(RecorderQueue& queue, const RecorderRules& rules, const FilterSlot* filter,
                  FlowHasher hasher);

    void attach(RunningFlows& flows) noexcept override { flows_ = &flows; }
    void detach() noexcept override { flows_ = nullptr; }
    void on_burst(FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept override;

private:
    /// What is kept of a frame.
    struct Cut {
        std::uint32_t octets;
        std::uint32_t flow_hash;
        std::uint32_t rss_hash;
        bool is_tunnelled;
    };
    using Cuts = std::array<Cut, kBurstPackets>;

    [[nodiscard]] PacketMask choose(const FrameBurst& burst) noexcept;
    void judge(const FrameBurst& burst, std::span<const KeyedPacket> packets, PacketMask chosen,
               Cuts& cuts) noexcept;
    using Payloads = std::array<RecorderQueue::Payload*, kBurstPackets>;
    void find_payloads(std::span<const KeyedPacket> packets, Payloads& payloads) const noexcept;
    [[nodiscard]] std::uint32_t kept_of(const KeyedPacket& packet,
                                        RecorderQueue::Payload* came) const noexcept;
    /// What a burst adds to the counters.
    struct KeptFrames {
        std::uint64_t whole = 0;
        std::uint64_t octets = 0;
    };
    void keep(const FrameBurst& burst, std::size_t index, const Cut& cut, KeptFrames& sum) noexcept;
    [[nodiscard]] std::span<const std::byte> put_together(const FrameBurst& burst,
                                                          std::size_t index) noexcept;

    RecorderQueue& queue_;
    RecorderRules rules_;
    const FilterSlot* filter_;
    FlowHasher hasher_;
    std::uint32_t most_octets_;  ///< of any frame
    bool locates_;               ///< the headers of metered packets
    bool looks_into_tunnels_;    ///< metered packets may not be the outermost ones
    RunningFlows* flows_ = nullptr;
    std::vector<std::byte> whole_;  ///< a frame of several segments
};

}  // namespace tributary
