// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tributary {

/// State of a network interface of the kernel, for virtual devices whose drivers don't know it.
struct KernelInterfaceState {
    bool running = false;      ///< up, with carrier
    bool promiscuous = false;  ///< by its flags
};

/// @return  all false where there is no such interface in this network namespace
[[nodiscard]] KernelInterfaceState read_kernel_interface(const std::string& name);

/// Receive queues that the interface spreads its packets over; 0 where its driver does not tell.
[[nodiscard]] std::uint32_t read_receive_queues(const std::string& name);

}  // namespace tributary
