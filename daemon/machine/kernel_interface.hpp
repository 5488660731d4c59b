// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

/// State of a network interface of the kernel, for virtual devices whose drivers don't know it.
struct KernelInterfaceState {
    bool running = false;      ///< up, with carrier
    bool promiscuous = false;  ///< by its flags
};

/// @return  all false where there is no such interface in this network namespace
[[nodiscard]] KernelInterfaceState read_kernel_interface(const std::string& name);

/// @return  the interface's MTU, octets of the longest packet that it sends; 0: there is no such
///          interface
[[nodiscard]] std::uint32_t read_mtu(const std::string& name);

/// Offloads of the interface that are on and make it hand over packets that are none of the wire:
/// it joins those that it receives (gro, lro), or leaves those that this host sends uncut (gso,
/// tso). By the names of `ethtool -K`.
[[nodiscard]] std::vector<std::string> read_joining_offloads(const std::string& name);

/// Receive queues that the interface spreads its packets over; 0 where its driver does not tell.
[[nodiscard]] std::uint32_t read_receive_queues(const std::string& name);

}  // namespace tributary
