// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/input/frame_burst.hpp"
#include "flowcache/input/kept_packet.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "flowcache/keyed_burst.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/counter.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_status.hpp"

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

/// The counters of a FragmentTable.
struct FragmentCounters {
    Counter first;          ///< first fragments, whose ports were kept
    Counter later;          ///< later fragments
    Counter without_first;  ///< of these: metered with ports 0, because the first one came later,
                            ///< too long ago or never, or is forgotten
    Counter forgotten;      ///< kept ports that others displaced before their time
};

/// The counters of one PacketReader. Written by the thread that owns it, read by any.
/// received = ignored + filtered + packets handed on.
struct InputCounters {
    Counter received;
    Counter filtered;
    std::array<Counter, kParseStatusCount> ignored;  ///< by ParseStatus; [ok] stays 0
    Counter filter_not_ready;  ///< ignored because the filter could not decide yet
    Counter ignored_octets;    ///< of all these, on the wire, as far as the source knows
    std::array<Counter, kCutHeaderCount> cut_headers;  ///< by CutHeader: metered all the same
    FragmentCounters fragments;
    Counter bad_timestamp;  ///< unified headers: packets whose time was replaced
    /// Records that a sender numbered and that never came. They are not in `received` either.
    Counter unified_headers_missing;
    Counter unified_headers_untracked;  ///< records of streams whose gaps are not followed

    [[gnu::noinline]] void count_filter_not_ready(std::span<const PacketView> packets) noexcept {
        filter_not_ready.add(packets.size());
        for (const PacketView& packet : packets) {
            ignored_octets.add(packet.wire_bytes);
        }
    }
    /// @param octets  of the packet, on the wire
    void count_ignored(ParseStatus status, std::uint64_t octets) noexcept {
        ignored[static_cast<std::size_t>(status)].add();
        ignored_octets.add(octets);
    }
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
