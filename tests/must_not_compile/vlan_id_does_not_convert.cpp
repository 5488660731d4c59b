// SPDX-License-Identifier: Apache-2.0
#include "parsers/packet_fields.hpp"

void tag(tributary::PacketFields& fields, std::uint16_t raw) {
    fields.outer_vlan = tributary::VlanId{raw};
    fields.outer_vlan = raw;  // forbidden
}
