// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/record/counter.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

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

}  // namespace tributary
