// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "flowcache/hot_entry.hpp"
#include "flowcache/keyed_packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// How a record ends with its TCP connection (`flows.tcp-end`). The end is seen with RST, or with
/// FIN; in a biflow once both directions have sent FIN, in this record or in one before. From then
/// on the record has a timeout of its own, Timeouts::tcp_end, so that late packets of the
/// connection still get in: the ACK of the last FIN, retransmissions, overtaken packets. A SYN,
/// with or without ACK, belongs to the ports' next connection, and ends the record at once.
///
/// @source  RFC 9293 §3.6
struct TcpEnd {
    /// Whether a packet may end a connection, or the end of its record's connection was seen. Other
    /// packets are added as without `tcp_end`.
    [[nodiscard, gnu::always_inline]] static bool concerns(const HotEntry& hot,
                                                           const KeyedPacket& packet) noexcept {
        return (packet.fields->tcp_control_bits & (tcp_flag::kFin | tcp_flag::kRst)) != 0 ||
               hot.end_was_seen != 0;
    }
    /// Notes a packet that was just added.
    ///
    /// @return  whether the record's deadline may be earlier now
    [[nodiscard]] static bool note(HotEntry& hot, const KeyedPacket& packet,
                                   bool is_biflow) noexcept {
        const std::uint16_t flags = packet.fields->tcp_control_bits;
        if ((flags & (tcp_flag::kFin | tcp_flag::kRst)) == 0) {
            return false;
        }
        if (!is_biflow || (flags & tcp_flag::kRst) != 0) {
            hot.finished = kBoth;
        }
        if (hot.finished != kBoth || hot.end_was_seen != 0) {
            return false;
        }
        hot.end_was_seen = 1;
        return true;
    }
    /// Whether a packet of the same ports is of another connection than the entry's, which is over.
    ///
    /// @param is_empty  the record in which the end was seen has left already. The entry is between
    ///                  records, and would pass the old connection's initiator on to the next
    ///                  connection
    [[nodiscard]] static bool is_of_next(const HotEntry& hot, bool is_empty,
                                         const KeyedPacket& packet) noexcept {
        return (packet.fields->tcp_control_bits & tcp_flag::kSyn) != 0 &&
               (hot.end_was_seen != 0 || (is_empty && hot.finished == kBoth));
    }

private:
    static constexpr std::uint32_t kBoth = 3;
};

}  // namespace tributary
