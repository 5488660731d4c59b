// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "export/file_descriptor.hpp"

namespace tributary {

/// The sockets of the kernel through which a port's driver receives, one per queue, and what the
/// kernel has dropped at each of them because its ring was full. DPDK's drivers do not tell that:
/// net_af_packet counts no drops, net_af_xdp not those of a full ring (22.11).
///
/// Descriptors of its own keep the sockets open until the object is gone.
/// @thread  one at a time: the kernel forgets a packet socket's count when it is read
class KernelSockets {
public:
    /// Finds a port's sockets among the descriptors of this process: sockets that no other object
    /// has found before, in the order in which they were made, which is that of the queues. Ports
    /// are to be asked for in the order in which their drivers made them.
    ///
    /// @param interface_index  to which packet sockets are bound
    /// @return  nothing: there are fewer than `queues`
    /// @cost    some system calls for each descriptor of the process
    [[nodiscard]] static std::optional<KernelSockets> find_packet(unsigned interface_index,
                                                                  std::size_t queues);
    [[nodiscard]] static std::optional<KernelSockets> find_xdp(std::size_t queues);

    /// Packets dropped at each queue's socket since it was made.
    /// @cost  a system call per queue
    [[nodiscard]] const std::vector<std::uint64_t>& read_drops();
    /// Packets that the kernel has given to the sockets since they were made, with those that it
    /// dropped there. Nothing: the kernel does not say, as of AF_XDP.
    /// @cost  a system call per queue
    [[nodiscard]] std::optional<std::uint64_t> read_packets();
    /// Whether all packet sockets are bound to their interface. The kernel takes a socket off an
    /// interface that is deleted, or moved to another network namespace, for good. True for AF_XDP,
    /// whose sockets do not tell.
    [[nodiscard]] bool are_bound() const;

private:
    KernelSockets(int family, unsigned interface_index, std::vector<FileDescriptor> sockets);

    int family_;
    unsigned interface_index_;
    std::vector<FileDescriptor> sockets_;
    std::vector<std::uint64_t> drops_;
    std::uint64_t packets_ = 0;  ///< of all packet sockets, as of the last reading
};

}  // namespace tributary
