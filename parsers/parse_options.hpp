// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace tributary {

/// Which IP packet of a frame is metered: the outermost, or the one inside its tunnels.
enum class TunnelMode : std::uint8_t { outer, inner };

/// Whose MAC addresses a record has when the packet lies in more than one Ethernet frame, by a
/// tunnel or a pseudo-wire: those of the frame right around it, or of the outermost frame.
enum class MacMode : std::uint8_t { inner, outer };

/// How frames are parsed; the same for all packets of an input.
struct ParseOptions {
    TunnelMode tunnel = TunnelMode::outer;
    MacMode mac_addresses = MacMode::inner;
    bool mpls_pseudowires = false;  ///< Ethernet frames inside MPLS are parsed
    bool llc_snap = false;          ///< IP in 802.3 frames with LLC and SNAP headers is IP
    bool tcp_segments = false;      ///< PacketFields::tcp is read
    /// The trimmed path: a packet whose addresses were read is metered although a later header runs
    /// past the captured bytes. PacketFields::cut_header names that header.
    bool keep_cut_headers = false;
    /// Bytes of a frame that are parsed, at the most.
    std::uint32_t most_bytes = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace tributary
