// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/former_packets.hpp"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>

namespace tributary {
namespace {

/// Drops a burst of each queue. @return  true: all were empty
bool drop_bursts(EthPortId port, std::uint16_t queues) {
    std::array<rte_mbuf*, 64> buffers{};
    bool is_empty = true;
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
        const std::uint16_t count =
            rte_eth_rx_burst(port.value, queue, buffers.data(), buffers.size());
        rte_pktmbuf_free_bulk(buffers.data(), count);
        is_empty &= count == 0;
    }
    return is_empty;
}

}  // namespace

std::optional<std::uint64_t> drop_what_came_before(EthPortId port, std::uint16_t queues,
                                                   MissedPackets& missed) {
    constexpr int kMostBursts = 4096;
    const bool has_socket_counts = missed.given_to_sockets().has_value();
    const auto count = [&] {
        return has_socket_counts ? missed.given_to_sockets() : missed.received_by_interface();
    };
    std::optional<std::uint64_t> counted = count();
    bool is_quiet = false;
    for (int burst = 0; !is_quiet && burst < kMostBursts; ++burst) {
        const bool was_empty = drop_bursts(port, queues);
        const std::optional<std::uint64_t> counted_now = count();
        is_quiet = was_empty && counted && counted == counted_now;
        counted = counted_now;
    }
    return has_socket_counts && counted ? missed.came_before(*counted) : counted;
}

}  // namespace tributary
