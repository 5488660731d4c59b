// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

/// State of a network interface of the kernel, for virtual devices: their drivers do not report it.
struct KernelInterfaceState {
    bool running = false;      ///< up, with carrier
    bool promiscuous = false;  ///< by its flags
};

/// @return  all false: no such interface in this network namespace
[[nodiscard]] KernelInterfaceState read_kernel_interface(const std::string& name);

/// @return  the interface's MTU, octets of the longest packet that it sends; 0: no such interface
[[nodiscard]] std::uint32_t read_mtu(const std::string& name);

/// The active offloads that make the interface's packets differ from those on the wire: the kernel
/// joins received packets (gro, lro), or delivers packets of this host before segmentation (gso,
/// tso). By the names of `ethtool -K`.
[[nodiscard]] std::vector<std::string> read_joining_offloads(const std::string& name);

/// The interface's number of receive queues; 0: unknown.
[[nodiscard]] std::uint32_t read_receive_queues(const std::string& name);

}  // namespace tributary
