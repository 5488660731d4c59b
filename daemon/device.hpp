// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/options.hpp"

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

/// The packet bytes that one buffer of this input must hold, without headroom.
///
/// @thread  any; pure
[[nodiscard]] std::uint16_t buffer_octets(const InputOptions& input);

}  // namespace tributary
