// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// The blocks of a pcapng file that tributary reads or writes, by their type.
///
/// @source  draft-ietf-opsawg-pcapng, 4 "Block Definitions"
enum class PcapngBlock : std::uint32_t {
    interface_description = 1,
    obsolete_packet = 2,
    simple_packet = 3,
    interface_statistics = 5,
    enhanced_packet = 6,
    section_header = 0x0A0D'0D0A,  ///< reads the same in either byte order
};

}  // namespace tributary
