// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/base/options.hpp"

namespace tributary {

/// The EAL argument that makes an ethdev port of a configured device.
struct EalDevice {
    std::string port_name;  ///< the ethdev port's name after EAL's start
    std::string argument;   ///< of `-a` (PCI) or `--vdev`
    bool is_pci = false;
    std::string kernel_interface;  ///< the kernel's interface behind a virtual device; may be empty
};

/// The mtu of an input without a configured or known one.
inline constexpr std::uint16_t kUsualMtu = 1500;
/// Octets of the longest IP packet for the input's buffers.
[[nodiscard]] constexpr std::uint16_t mtu_of(const InputOptions& input) noexcept {
    return input.mtu != 0 ? input.mtu : kUsualMtu;
}

/// The device and the memory that a port needs, for receiving or for sending.
struct PortOptions {
    std::string device;  ///< as InputOptions::device
    std::uint16_t queues{};
    std::uint16_t mtu{};           ///< octets of IP packet that a buffer must hold
    std::uint16_t descriptors{};   ///< per queue
    std::uint32_t mempool_size{};  ///< buffers; 0: from queues and descriptors
    std::uint32_t kept_buffers{};  ///< per queue, beside these: as InputOptions::kept_buffers
};
[[nodiscard]] inline PortOptions port_of(const InputOptions& input) {
    return {.device = input.device,
            .queues = input.queues,
            .mtu = mtu_of(input),
            .descriptors = input.rx_descriptors,
            .mempool_size = input.mempool_size,
            .kept_buffers = input.kept_buffers};
}
[[nodiscard]] inline PortOptions port_of(const OutputOptions& output) {
    return {.device = output.device,
            .queues = output.queues,
            .mtu = output.mtu,
            .descriptors = output.tx_descriptors};
}

/// Translates `InputOptions::device`.
///
/// @param position  of the input in the configuration, from 0; names the port of af_packet: and
/// af_xdp:
/// @errors          StartupError(78): empty, or without the interface name
/// @thread          any; pure
[[nodiscard]] EalDevice eal_device(const PortOptions& port, std::size_t position);
[[nodiscard]] inline EalDevice eal_device(const InputOptions& input, std::size_t position) {
    return eal_device(port_of(input), position);
}

/// The same input; without a configured mtu, af_packet: and af_xdp: inputs get their interface's
/// mtu, at least kUsualMtu and at most what a buffer can hold.
///
/// @param interface_mtu  of the kernel's interface; 0: unknown
/// @thread               any; pure
[[nodiscard]] InputOptions with_mtu(const InputOptions& input, std::uint32_t interface_mtu);

/// with_mtu() with the kernel's mtu of the input's interface.
///
/// @errors  StartupError(78): as eal_device()
/// @thread  any
[[nodiscard]] InputOptions with_mtu_of_interface(const InputOptions& input);

/// Frames of so many octets or more may be cut without notice from the driver: net_af_packet cuts
/// at its frame size, and a capture may have cut any frame of net_pcap.
///
/// @param driver  DPDK's name
/// @return        UINT32_MAX: drivers that report the length, or drop longer frames
/// @thread        any; pure
[[nodiscard]] std::uint32_t octets_of_cut_frame(const EalDevice& device, const std::string& driver);

/// The packet bytes that one buffer of this port must hold, without headroom.
///
/// @thread  any; pure
[[nodiscard]] std::uint16_t buffer_octets(const PortOptions& port);

}  // namespace tributary
