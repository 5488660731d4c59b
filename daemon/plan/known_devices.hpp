// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/machine/device.hpp"

namespace tributary {

/// Why a device cannot be found on this machine: an interface of the kernel, or a PCI device, that
/// is not there now, with those that are.
///
/// @return  words that follow "but"; empty: it is there, or only DPDK knows
/// @thread  any
[[nodiscard]] std::string lack_of_device(const EalDevice& device);

}  // namespace tributary
