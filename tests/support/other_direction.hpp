// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "parsers/packet_fields.hpp"

namespace tributary::test {

/// A packet from the other end of the flow, with all else as it is.
inline PacketFields other_direction(PacketFields fields) {
    std::swap(fields.source, fields.destination);
    std::swap(fields.source_port, fields.destination_port);
    return fields;
}

}  // namespace tributary::test
