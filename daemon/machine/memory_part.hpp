// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/machine/topology.hpp"

namespace tributary {

/// The memory of a part of the program on a NUMA node, in octets.
struct MemoryPart {
    std::string part;  ///< such as "flow caches"
    NumaNode node;
    std::uint64_t octets{};             ///< reserved
    std::optional<std::uint64_t> used;  ///< of these; nullopt: unknown
};

}  // namespace tributary
