// SPDX-License-Identifier: Apache-2.0
#include "parsers/parse_packet.hpp"

bool meter(const tributary::PacketView& packet) {
    tributary::PacketFields fields;
    tributary::parse_packet(packet, {}, fields);  // forbidden
    return tributary::parse_packet(packet, {}, fields) == tributary::ParseStatus::ok;
}
