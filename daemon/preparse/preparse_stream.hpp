// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/base/frame_sink.hpp"
#include "flowcache/input/frame_parser.hpp"
#include "flowcache/input/input_counters.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/record/counter.hpp"
#include "parsers/packet.hpp"
#include "parsers/unified_header.hpp"

namespace tributary {

/// Counters of one stream. Written by its thread, read by any. After flush(): input.received =
/// input.filtered + the sum of `packets`.
struct PreparseCounters {
    InputCounters input;  ///< `ignored` packets are sent, as records with the reason
    std::array<Counter, kFrameOutcomeCount> packets;  ///< by the outcome of their records
    std::array<Counter, kFrameOutcomeCount>
        frames;  ///< the same in frames; without a buffer there is none
};

/// Makes unified headers of one queue's packets: filter, sample, parse, and a record for each
/// packet that passes the filter, also for those that the parser ignores. Records are sent when a
/// frame is full, or at flush().
///
/// The sequence number counts made records, so the receiver misses records that are lost here.
///
/// @thread  one
class PreparseStream {
public:
    /// @param number    of the stream, for the receiver
    /// @param counters  outlives the stream, like the sink
    /// @param parts     with TCP segments, frames are of version 2
    PreparseStream(std::uint32_t number, const FrameParserParts& parts, FrameSink& sink,
                   PreparseCounters& counters) noexcept
        : sink_(sink),
          counters_(counters),
          parser_(parts, counters.input),
          frame_header_{.stream = number, .has_segments = parts.parse.tcp_segments} {}

    /// Takes packets in their order.
    ///
    /// @param packets  at most kBurstPackets, with good times
    /// @param times    for their records: the times as received, for the receiver to judge
    /// @cost           no allocation
    void take(std::span<const PacketView> packets, std::span<const Timestamp> times) noexcept;
    /// The same with the packets' own times.
    void take(std::span<const PacketView> packets) noexcept;

    /// Sends the records so far.
    void flush() noexcept;

private:
    void add(const PacketView& packet, ParseStatus status, Timestamp time) noexcept;
    [[nodiscard]] bool begin_frame() noexcept;

    FrameSink& sink_;
    PreparseCounters& counters_;
    FrameParser parser_;
    UnifiedFrame frame_header_;       ///< with the records so far
    std::span<std::byte> frame_;      ///< empty: none begun
    std::uint16_t most_records_ = 0;  ///< that fit into the frame
    PacketTimes times_;
    PacketFields fields_;
};

}  // namespace tributary
