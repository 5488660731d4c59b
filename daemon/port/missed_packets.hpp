// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/port/kernel_sockets.hpp"

namespace tributary {

/// Packets that never reached the input thread, because it was too slow.
struct MissedCount {
    std::optional<std::uint64_t> packets;  ///< nullopt: unknown
    /// Per queue; unknown for queues past the last entry.
    std::vector<std::uint64_t> by_queue;
};

/// The growth of a kernel's counter since its first reading. The counter may begin anew, together
/// with the interface's driver.
class CounterGrowth {
public:
    void note(std::uint64_t reading) noexcept;
    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

private:
    std::optional<std::uint64_t> last_;  ///< nullopt: the kernel has not answered yet
    std::uint64_t total_ = 0;
};

/// Counts a port's missed packets, depending on its driver:
///
///     net_af_packet, net_af_xdp  the kernel counts them at the driver's sockets, and those
///                                missed by the interface's own NIC before
///     drivers with the count     their statistics
///     net_pcap, net_null         none missed from files and net_null; libpcap counts live
///     net_ring                   none missed: the sender keeps packets without room
///     all others                 unknown: a tap's and a memif's packets are dropped by the kernel
///                                or the sender, a virtual NIC's by its host, without a report
///
/// @thread  one at a time
class MissedPackets {
public:
    struct Port {
        std::string driver;
        unsigned interface_index{};  ///< the kernel's; 0: none
        std::size_t queues{};
    };

    /// @param port  its queues are set up: the driver has its sockets
    explicit MissedPackets(const Port& port);

    /// Whether the missed packets are known.
    [[nodiscard]] bool are_known() const noexcept;
    /// For the log: why they are unknown; empty: they are known.
    [[nodiscard]] std::string why_unknown() const;
    /// Since the object was made; with sockets of the kernel since these were made.
    ///
    /// @param imissed   of rte_eth_stats; nullopt: the driver has no statistics
    /// @param q_errors  of rte_eth_stats, of up to 16 queues
    /// @cost            up to four system calls, and one per queue
    [[nodiscard]] MissedCount count(std::optional<std::uint64_t> imissed,
                                    const std::vector<std::uint64_t>& q_errors);
    /// Packets that the kernel has given to the port's sockets since they were made, dropped ones
    /// included. nullopt: no sockets are known, or the kernel does not report it.
    [[nodiscard]] std::optional<std::uint64_t> given_to_sockets();
    /// Packets that the interface has received since it was made. nullopt: the kernel does not
    /// report it.
    [[nodiscard]] std::optional<std::uint64_t> received_by_interface() const;
    /// Packets that the interface had received, since it was made, when given_to_sockets() was
    /// `given_then`. Exact if the interface sends nothing meanwhile: its sockets also see sent
    /// packets.
    ///
    /// @return  nullopt: the kernel does not answer
    /// @cost    some hundred system calls
    [[nodiscard]] std::optional<std::uint64_t> came_before(std::uint64_t given_then);
    /// Whether the kernel has unbound the driver's sockets from their interface, for good.
    [[nodiscard]] bool have_lost_interface() const;

private:
    [[nodiscard]] std::uint64_t missed_by_interface();
    [[nodiscard]] std::vector<std::uint64_t> by_queue(
        std::uint64_t imissed, const std::vector<std::uint64_t>& q_errors) const;

    Port port_;
    std::optional<KernelSockets> sockets_;
    CounterGrowth interface_missed_;
};

/// Whether the driver receives through sockets of the kernel.
/// @thread  any; pure
[[nodiscard]] bool uses_kernel_sockets(std::string_view driver) noexcept;
/// Whether a driver's statistics include the packets missed by its NIC (DPDK 22.11).
/// @thread  any; pure
[[nodiscard]] bool counts_missed_packets(std::string_view driver) noexcept;

}  // namespace tributary
