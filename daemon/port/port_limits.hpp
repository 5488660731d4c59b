// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "daemon/base/options.hpp"

struct rte_eth_dev_info;

namespace tributary {

/// Refuses more receive queues than the driver has, and with net_af_packet any number that leaves a
/// socket without a thread: the sockets exist with the device, and the kernel spreads packets over
/// all of them.
///
/// @errors  StartupError(78)
/// @thread  any; pure
void check_queues(const InputOptions& input, const rte_eth_dev_info& info);

/// The largest IP packet that the driver takes, or 65535 if it reports none.
/// @thread  any; pure
[[nodiscard]] std::uint16_t largest_mtu(const rte_eth_dev_info& info);

}  // namespace tributary
