// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "flowcache/record/address_words.hpp"
#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

// How the two directions of a conversation become one biflow (RFC 5103): both have one canonical
// key, under which they are found, and the first packet decides which of the two ends is the
// record's source. What is swapped changes places with the other direction's.

/// IPv6 source and destination of a packet, or of its other direction.
[[nodiscard]] inline AddressPair swapped_addresses(const PacketFields& fields,
                                                   bool is_swapped) noexcept {
    return {is_swapped ? fields.destination : fields.source,
            is_swapped ? fields.source : fields.destination};
}

/// The same tunnel as the other direction's packets have it, where the id is one for both: a GTP-U
/// endpoint chooses its TEID alone.
[[nodiscard]] inline TunnelGroup swapped(TunnelGroup tunnel, bool is_swapped) noexcept {
    if (is_swapped) {
        std::swap(tunnel.source, tunnel.destination);
    }
    return tunnel;
}

/// The key of a record, in the other direction.
[[nodiscard]] inline FlowKey swapped(FlowKey key, bool is_swapped) noexcept {
    if (is_swapped) {
        std::swap(key.source, key.destination);
        std::swap(key.source_port, key.destination_port);
    }
    return key;
}

/// Whether the other direction has the same key, so that it is not told apart.
[[nodiscard]] inline bool has_equal_ends(const FlowKey& key) noexcept {
    return key == swapped(key, true);
}

/// Whether a flow may have another direction, by its protocol, under a key of whole fields. Type
/// and code stand in the destination port of ICMP and ICMPv6: swapped, they would be another flow's
/// ports. KeyMasks::can_be_paired() is for any key.
[[nodiscard]] constexpr bool can_be_paired(std::uint8_t protocol) noexcept {
    return protocol != ip_protocol::kIcmp && protocol != ip_protocol::kIcmpV6;
}

/// One end of a conversation, as integers of this machine.
struct FlowEnd {
    AddressWords address;
    std::uint16_t port;
};

/// Whether a key with these ends has to be swapped to be canonical: the canonical key's source is
/// the smaller pair of address and port. Equal ends are not swapped. The order means nothing
/// outside this machine: it is that of its integers.
///
/// @thread  any; pure
/// @cost    no branch
[[nodiscard]] [[gnu::always_inline]] inline bool are_in_wrong_order(
    const FlowEnd& source, const FlowEnd& destination) noexcept {
    const auto less_port = static_cast<unsigned>(destination.port < source.port);
    const auto less_low =
        static_cast<unsigned>(destination.address.low < source.address.low) |
        (static_cast<unsigned>(destination.address.low == source.address.low) & less_port);
    const auto less =
        static_cast<unsigned>(destination.address.high < source.address.high) |
        (static_cast<unsigned>(destination.address.high == source.address.high) & less_low);
    return less != 0;
}

/// Whether the key of a packet's whole fields has to be swapped to be canonical. One that cannot be
/// paired is never swapped.
///
/// @thread  any; pure
/// @cost    no branch
[[nodiscard]] inline bool needs_swap(const PacketFields& fields) noexcept {
    const FlowEnd source{words_of(fields.source, fields.ip_version), fields.source_port.value};
    const FlowEnd destination{words_of(fields.destination, fields.ip_version),
                              fields.destination_port.value};
    return (static_cast<unsigned>(are_in_wrong_order(source, destination)) &
            static_cast<unsigned>(can_be_paired(fields.protocol))) != 0;
}

/// Whether the ports show the initiator: clients take high ones.
[[nodiscard]] inline bool is_decided_by_port(const PacketFields& first,
                                             bool initiator_by_port) noexcept {
    return initiator_by_port && can_be_paired(first.protocol) &&
           first.source_port != first.destination_port;
}

/// Whether the sender of a flow's first packet is its initiator, as far as that packet shows. In
/// TCP's handshake the initiator sends SYN without ACK. Otherwise, where the options say so, it has
/// the higher port. Otherwise it is the sender of the first packet.
///
/// @param initiator_by_port  FlowCacheOptions::initiator_by_port
[[nodiscard]] inline bool is_initiator(const PacketFields& first, bool initiator_by_port) noexcept {
    if ((first.tcp_control_bits & tcp_flag::kSyn) != 0) {
        return (first.tcp_control_bits & tcp_flag::kAck) == 0;
    }
    return !is_decided_by_port(first, initiator_by_port) ||
           first.source_port > first.destination_port;
}

/// The biflowDirection that belongs to is_initiator()'s answer: in a TCP connection that is met in
/// its middle, the sender of the first packet is arbitrary.
[[nodiscard]] inline BiflowDirection biflow_direction(const PacketFields& first,
                                                      bool initiator_by_port) noexcept {
    const bool began_before =
        first.protocol == ip_protocol::kTcp && (first.tcp_control_bits & tcp_flag::kSyn) == 0;
    return began_before && !is_decided_by_port(first, initiator_by_port)
               ? BiflowDirection::arbitrary
               : BiflowDirection::initiator;
}

}  // namespace tributary
