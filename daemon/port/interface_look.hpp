// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace tributary {

/// The kernel's present state of one network interface.
struct InterfaceLook {
    enum class Presence : std::uint8_t {
        there,
        gone,     ///< no interface of this network namespace has the index
        unknown,  ///< the kernel does not answer
    };
    Presence presence = Presence::unknown;
    bool running = false;      ///< up, with carrier
    std::uint64_t received{};  ///< packets, since the interface was made
    /// Packets without room in the interface's own NIC (rx_missed_errors), since the interface was
    /// made.
    std::uint64_t missed{};
};

/// Asks by the interface's index: another interface may have its name by now.
///
/// @param index  as if_nametoindex() gives it
/// @thread  any
/// @cost    four system calls
[[nodiscard]] InterfaceLook look_at_interface(unsigned index);

/// The other end of a veth pair.
struct VethPeer {
    unsigned index{};     ///< in its network namespace
    bool is_elsewhere{};  ///< in another namespace than ours
};

/// @return  nullopt: not an end of a veth pair, or the kernel does not answer
/// @thread  any
/// @cost    four system calls
[[nodiscard]] std::optional<VethPeer> veth_peer_of(unsigned index);

}  // namespace tributary
