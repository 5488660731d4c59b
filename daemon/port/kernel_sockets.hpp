// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "export/file_descriptor.hpp"

namespace tributary {

/// The kernel's sockets of a port's driver, one per queue, and the packets that the kernel has
/// dropped at each because its ring was full. DPDK's drivers do not report them: net_af_packet
/// counts no drops, net_af_xdp none of a full ring (22.11).
///
/// Descriptors of its own keep the sockets open until the object is gone.
/// @thread  any, one at a time: the kernel clears a packet socket's count when it is read
class KernelSockets {
public:
    /// Finds a port's sockets among the descriptors of this process: sockets that no other object
    /// has found before, in the order of their creation, which is the order of the queues. Call it
    /// for ports in the order in which their drivers made them.
    ///
    /// @param interface_index  of the packet sockets
    /// @return  nullopt: fewer than `queues`
    /// @cost    some system calls for each descriptor of the process
    [[nodiscard]] static std::optional<KernelSockets> find_packet(unsigned interface_index,
                                                                  std::size_t queues);
    [[nodiscard]] static std::optional<KernelSockets> find_xdp(std::size_t queues);

    /// Packets dropped at each queue's socket since it was made.
    /// @cost  a system call per queue
    [[nodiscard]] const std::vector<std::uint64_t>& read_drops();
    /// Packets that the kernel has given to the sockets since they were made, dropped ones
    /// included. nullopt: the kernel does not report it, as for AF_XDP.
    /// @cost  a system call per queue
    [[nodiscard]] std::optional<std::uint64_t> read_packets();
    /// Whether all packet sockets are bound to their interface. When an interface is deleted, or
    /// moved to another network namespace, the kernel unbinds its sockets for good. Always true for
    /// AF_XDP sockets, which do not report it.
    [[nodiscard]] bool are_bound() const;

private:
    KernelSockets(int family, unsigned interface_index, std::vector<FileDescriptor> sockets);

    int family_;
    unsigned interface_index_;
    std::vector<FileDescriptor> sockets_;
    std::vector<std::uint64_t> drops_;
    std::uint64_t packets_ = 0;  ///< of all packet sockets, at the last reading
};

}  // namespace tributary
