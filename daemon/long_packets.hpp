// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/options.hpp"

namespace tributary {

/// What comes through the kernel may be longer than an input's buffers, and than anything on the
/// wire: says so of an interface's mtu, and of its offloads, with the line to type.
///
/// @param driver     DPDK's name for it
/// @param interface  of the kernel, behind it
/// @return           lines for the log; none for other drivers than af_packet's and af_xdp's
/// @thread           main; asks the kernel
[[nodiscard]] std::vector<std::string> warnings_of_long_packets(const InputOptions& input,
                                                                const std::string& driver,
                                                                const std::string& interface);

}  // namespace tributary
