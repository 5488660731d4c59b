// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/port/missed_packets.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Draws the line between what a port's interface received too early and what the port receives,
/// when it was started and no thread polls it yet. What its queues hold is dropped: until they are
/// bound, net_af_packet's sockets hear all interfaces (22.11). From the moment at which nothing is
/// left, the port receives all that its sockets get.
///
/// @return  packets that the interface had received by then; nothing: the kernel does not tell.
///          Exact where such a moment comes; where packets come too fast for that, but for those of
///          the time in which it is looked for last
/// @thread  main
/// @cost    some milliseconds
[[nodiscard]] std::optional<std::uint64_t> drop_what_came_before(EthPortId port,
                                                                 std::uint16_t queues,
                                                                 MissedPackets& missed);

}  // namespace tributary
