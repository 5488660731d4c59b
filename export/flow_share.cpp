// SPDX-License-Identifier: Apache-2.0
#include "export/flow_share.hpp"

#include <tuple>

#include "flowcache/record/flow_direction.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

std::uint32_t FlowShare::of(const std::byte* record) const noexcept {
    FlowKey key = reinterpret_cast<const FlowRecordCore*>(record)->key;
    key.ingress_interface = {};  // the two directions of a tap come through two
    key = swapped(key, std::tie(key.destination, key.destination_port) <
                           std::tie(key.source, key.source_port));
    return static_cast<std::uint32_t>(hasher_(key) >> 32U);
}

}  // namespace tributary
