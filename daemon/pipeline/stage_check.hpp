// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "flowcache/input/burst_stage.hpp"

namespace tributary {

/// What a queue has for its stages.
struct StageRoom {
    std::string queue;     ///< for messages
    bool has_octets{};     ///< of packets; unified headers have none
    std::uint32_t kept{};  ///< buffers for packets that its stages keep, as stated at the start
};

/// Refuses stages that cannot work on a queue: they need octets that do not come, keep more packets
/// than there are buffers for, or are too many that need flows.
///
/// @errors  StartupError(78)
/// @thread  any
void check_stages(const StageList& stages, const StageRoom& room);

}  // namespace tributary
