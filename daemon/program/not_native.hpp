// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// Why a packet program has no machine code.
enum class NotNative : std::uint8_t {
    no_executable_memory,  ///< the process may not make memory executable
    no_compiler,           ///< DPDK has none for this CPU
    foreign_instruction,   ///< one that libpcap's compiler does not emit for a filter
    loop,
    offset_beyond_frames,  ///< no frame of 65,535 octets has this offset
    too_long,
    too_many_paths,  ///< DPDK's verifier might follow them for minutes or longer
    refused,         ///< by DPDK's verifier
    wrong_jumps,     ///< DPDK has compiled it wrongly
    differs,         ///< from libpcap's interpreter, in the self-check
};

/// In words that follow "interpreted: ".
[[nodiscard]] const char* reason_of(NotNative why) noexcept;

}  // namespace tributary
