// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/base/frame_sink.hpp"
#include "flowcache/input/frame_parser.hpp"
#include "flowcache/input/packet_reader.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/record/counter.hpp"
#include "parsers/packet.hpp"
#include "parsers/unified_header.hpp"

namespace tributary {

/// What one stream counts. Written by its thread, read by anyone.
/// After flush(): input.received = input.filtered + the sum of `packets`.
struct PreparseCounters {
    InputCounters input;                           ///< `ignored` are sent, as records that say why
    std::array<Counter, kFrameFateCount> packets;  ///< by what became of their records
    std::array<Counter, kFrameFateCount> frames;   ///< the same in frames, where there was one
};

/// Packets of one queue on their way to being unified headers: filter, sample, parse, and a record
/// for each one that passes the filter, also for those that the parser ignores. Records are sent
/// when a frame is full, or at flush().
///
/// The sequence number counts records as they are made, so those that are lost here are missing
/// there.
///
/// @thread  one
class PreparseStream {
public:
    /// @param number    of the stream, for the receiver
    /// @param counters  outlives the stream, like the sink
    /// @param parts     where TCP segments are read, frames are of version 2
    PreparseStream(std::uint32_t number, const FrameReaderParts& parts, FrameSink& sink,
                   PreparseCounters& counters) noexcept
        : sink_(sink),
          counters_(counters),
          parser_(parts, counters.input),
          frame_header_{.stream = number, .has_segments = parts.parse.tcp_segments} {}

    /// Takes packets in their order.
    ///
    /// @param packets  at most kBurstPackets, with good times
    /// @param times    what their records say: the times as they came, for the receiver to judge
    /// @cost           no allocation
    void take(std::span<const PacketView> packets, std::span<const Timestamp> times) noexcept;
    /// The same for packets whose times are those to be told.
    void take(std::span<const PacketView> packets) noexcept;

    /// Sends what is there.
    void flush() noexcept;

private:
    void add(const PacketView& packet, ParseStatus status, Timestamp time) noexcept;
    [[nodiscard]] bool begin_frame() noexcept;

    FrameSink& sink_;
    PreparseCounters& counters_;
    FrameParser parser_;
    UnifiedFrame frame_header_;       ///< of the frame, with the records so far
    std::span<std::byte> frame_;      ///< empty: none is begun
    std::uint16_t most_records_ = 0;  ///< that the frame has room for
    PacketTimes times_;
    PacketFields fields_;
};

}  // namespace tributary
