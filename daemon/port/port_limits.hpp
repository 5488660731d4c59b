// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "daemon/base/options.hpp"

struct rte_eth_dev_info;

namespace tributary {

/// Refuses numbers of receive queues that the driver doesn't have, and with net_af_packet any that
/// leave one of its sockets without a thread: the kernel spreads packets over all of them, and they
/// are there as soon as the device is.
///
/// @errors  StartupError(78)
/// @thread  any; pure
void check_queues(const InputOptions& input, const rte_eth_dev_info& info);

/// The largest IP packet that the driver says it takes, or 65535 where it doesn't say.
/// @thread  any; pure
[[nodiscard]] std::uint16_t largest_mtu(const rte_eth_dev_info& info);

}  // namespace tributary
