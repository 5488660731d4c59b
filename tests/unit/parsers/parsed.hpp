// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "parsers/parse_packet.hpp"
#include "tests/support/packet_builder.hpp"

namespace Catch {
template <>
struct StringMaker<tributary::ParseStatus> {
    static std::string convert(tributary::ParseStatus status) {
        return std::string(tributary::name_of(status));
    }
};
}  // namespace Catch

namespace tributary::test {

struct Parsed {
    ParseStatus status;
    PacketFields fields;
};

/// What the parser says of a frame. It gets fields full of old values, as on the packet path.
inline Parsed parse(const PacketView& packet) {
    PacketFields fields;
    fields.source.fill(std::byte{0xee});
    fields.destination.fill(std::byte{0xee});
    fields.source_port = fields.destination_port = {0xeeee};
    fields.ip_bytes = 0xeeee'eeee;
    fields.tcp_control_bits = 0xeeee;
    fields.outer_vlan = fields.customer_vlan = {0xeeee};
    fields.vlan_tags = fields.ip_version = fields.protocol = 0xee;
    fields.ip_class_of_service = fields.ttl = 0xee;
    const ParseStatus status = parse_packet(packet, fields);
    return {status, fields};
}
inline Parsed parse(const Frame& frame) { return parse(frame.view()); }

}  // namespace tributary::test
