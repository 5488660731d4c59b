// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/base/options.hpp"

namespace tributary {

/// What EAL must be told so that a configured device becomes an ethdev port.
struct EalDevice {
    std::string port_name;  ///< the ethdev port's name once EAL is up
    std::string argument;   ///< of `-a` (PCI) or `--vdev`
    bool is_pci = false;
    std::string kernel_interface;  ///< the kernel's interface behind a virtual device; may be empty
};

/// Translates `InputOptions::device`.
///
/// @param position  of the input in the configuration, from 0; names the port of af_packet: and
/// af_xdp:
/// @errors          StartupError(78): empty, or no interface name where one belongs
/// @thread          any; pure
[[nodiscard]] EalDevice eal_device(const InputOptions& input, std::size_t position);

/// What an input's buffers must hold where nothing else is known.
inline constexpr std::uint16_t kUsualMtu = 1500;
/// Octets of the longest IP packet that the input's buffers are to hold.
[[nodiscard]] constexpr std::uint16_t mtu_of(const InputOptions& input) noexcept {
    return input.mtu != 0 ? input.mtu : kUsualMtu;
}
/// The same input with an mtu that follows its interface, where none is configured: of af_packet:
/// and af_xdp: at least kUsualMtu, at most what a buffer can have.
///
/// @param interface_mtu  of the kernel's interface; 0: unknown
/// @thread               any; pure
[[nodiscard]] InputOptions with_mtu(const InputOptions& input, std::uint32_t interface_mtu);

/// with_mtu() of the input's interface, as the kernel tells it.
///
/// @errors  StartupError(78): as eal_device()
/// @thread  any
[[nodiscard]] InputOptions with_mtu_of_interface(const InputOptions& input);

/// From how many octets on a frame may be cut without a word from the driver: net_af_packet cuts
/// at its frame size, and of net_pcap's frames any may have been cut by the capture.
///
/// @param driver  DPDK's name for it
/// @return        UINT32_MAX: drivers that tell the length, or drop what is too long
/// @thread        any; pure
[[nodiscard]] std::uint32_t octets_of_cut_frame(const EalDevice& device, const std::string& driver);

/// The packet bytes that one buffer of this input must hold, without headroom.
///
/// @thread  any; pure
[[nodiscard]] std::uint16_t buffer_octets(const InputOptions& input);

}  // namespace tributary
