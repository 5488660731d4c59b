// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/port/missed_packets.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Separates the packets that a port's interface received too early from those of the port. Call it
/// when the port is started and no thread polls it yet. It drops the packets in the queues: until
/// they are bound, net_af_packet's sockets receive from all interfaces (22.11). Once the queues are
/// empty, the port receives all packets of its sockets.
///
/// @return  packets that the interface had received by then; nullopt: the kernel does not report
///          it. Exact if the queues become empty; if packets come too fast, it is off by the
///          packets of the last attempt
/// @thread  main
/// @cost    some milliseconds
[[nodiscard]] std::optional<std::uint64_t> drop_what_came_before(EthPortId port,
                                                                 std::uint16_t queues,
                                                                 MissedPackets& missed);

}  // namespace tributary
