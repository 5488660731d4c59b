// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "flowcache/input/frame_burst.hpp"
#include "flowcache/input/input_counters.hpp"
#include "flowcache/input/kept_packet.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "flowcache/keyed_burst.hpp"
#include "flowcache/keyed_packet.hpp"

namespace tributary {

/// The packets of one burst. Borrowed until the reader's release().
struct ParsedBurst {
    /// All packets that came, with masks. Where a source has sent packets' fields instead of their
    /// octets, these are the packets, and not the frames that the fields came in.
    FrameBurst burst;
    std::span<KeyedPacket> packets;  ///< those to be metered; their views are in the burst
    /// Packets that came: those of the burst, and frames that had no packets and were ignored.
    std::size_t received{};
};

/// How packets become fields: full parsing, parsing of trimmed packets, or reading unified headers.
/// Virtual, because it is called once per burst.
class PacketReader {
public:
    PacketReader() = default;
    PacketReader(const PacketReader&) = delete;
    PacketReader& operator=(const PacketReader&) = delete;
    virtual ~PacketReader() = default;

    /// Takes the next burst from the source; release() comes before the next call.
    /// @param keyed  gets the packets that are to be metered, in place of what was in it
    /// @thread       the thread that owns the reader; so are all functions but counters()
    [[nodiscard]] virtual ParsedBurst read_burst(KeyedBurst& keyed) noexcept = 0;
    /// Gives the burst's memory back to the source, but for what is kept or forwarded.
    /// @param burst  of the last read_burst(), with the marks of the stages
    virtual void release(const FrameBurst& burst) noexcept = 0;
    /// From the next burst on packets must match another filter. A reader without frames has no
    /// filter.
    ///
    /// @param filter  outlives the reader, or its next set_filter(); nullptr: all match
    virtual void set_filter(PacketSelector* /*filter*/) noexcept {}
    /// Whether packets of the source's last burst are still to come: the next read_burst() takes no
    /// new burst.
    [[nodiscard]] virtual bool holds_packets() const noexcept { return false; }
    /// Whether no further packet will come; from a NIC, one always may.
    [[nodiscard]] virtual bool ended() const noexcept = 0;
    /// Whether the burst's views have the octets of packets.
    [[nodiscard]] virtual bool has_octets() const noexcept { return true; }
    /// The buffers for packets that stages keep; nullptr: none can be kept.
    /// @thread  any, its counts
    [[nodiscard]] virtual const KeptBuffers* kept() const noexcept { return nullptr; }

    /// @thread  any
    [[nodiscard]] const InputCounters& counters() const noexcept { return counters_; }

protected:
    template <class Source>
    [[nodiscard]] static const KeptBuffers* kept_of(const Source& source) noexcept {
        if constexpr (requires { source.kept(); }) {
            return &source.kept();
        } else {
            return nullptr;
        }
    }

    InputCounters counters_;
};

}  // namespace tributary
