// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/machine/device.hpp"

namespace tributary {

/// Why a device is not on this machine: a missing interface of the kernel or PCI device, with a
/// list of the present ones.
///
/// @return  a text to follow "but"; empty: it is present, or only DPDK can check
/// @thread  any
[[nodiscard]] std::string lack_of_device(const EalDevice& device);

}  // namespace tributary
