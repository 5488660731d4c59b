// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/port_limits.hpp"

#include <fmt/format.h>
#include <rte_ethdev.h>
#include <sysexits.h>

#include <algorithm>
#include <string_view>

#include "daemon/base/startup_error.hpp"

namespace tributary {

void check_queues(const InputOptions& input, const rte_eth_dev_info& info) {
    const std::string_view driver(info.driver_name);
    if (driver == "net_af_packet" && input.queues != info.max_rx_queues) {
        throw StartupError(
            EX_CONFIG,
            fmt::format("input {}: queues is {}, but {} has a qpairs of {}: the kernel gives "
                        "packets to each of them, so queues and qpairs must be the same",
                        input.name, input.queues, input.device, info.max_rx_queues));
    }
    if (input.queues > info.max_rx_queues) {
        throw StartupError(
            EX_CONFIG,
            fmt::format("input {}: queues is {}, but {} (driver {}) has at most {}{}", input.name,
                        input.queues, input.device, driver, info.max_rx_queues,
                        driver == "net_pcap" ? "; give as many rx_pcap= as queues" : ""));
    }
}

std::uint16_t largest_mtu(const rte_eth_dev_info& info) {
    if (info.max_mtu != UINT16_MAX) {
        return info.max_mtu;
    }
    constexpr std::uint32_t kOverhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
    const std::uint32_t frame = std::max(info.max_rx_pktlen, RTE_ETHER_MTU + kOverhead);
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(frame - kOverhead, UINT16_MAX));
}

}  // namespace tributary
