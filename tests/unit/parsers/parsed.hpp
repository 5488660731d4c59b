// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
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

inline constexpr std::array<std::byte, 64> kOldBytes{};

/// The parser's result for a frame. It gets fields full of old values, as on the packet path.
inline Parsed parse(const PacketView& packet, const ParseOptions& options = {}) {
    PacketFields fields;
    fields.source.fill(std::byte{0xee});
    fields.destination.fill(std::byte{0xee});
    fields.source_port = fields.destination_port = {0xeeee};
    fields.ip_bytes = 0xeeee'eeee;
    fields.tcp_control_bits = 0xeeee;
    fields.outer_vlan = fields.customer_vlan = {0xeeee};
    fields.vlan_tags = fields.ip_version = fields.protocol = 0xee;
    fields.ip_class_of_service = fields.ttl = 0xee;
    fields.fragment_flags = fields.mpls_labels = 0xee;
    fields.is_later_fragment = true;
    fields.cut_header = CutHeader::tunnel_header;
    fields.fragment_id = fields.flow_label = fields.tunnel.id = 0xeeee'eeee;
    fields.mac_addresses = fields.mpls_stack = fields.tunnel.addresses = kOldBytes.data();
    fields.tunnel.kind = TunnelKind::gtp_u;
    fields.has_tcp_segment = true;
    fields.tcp = {.sequence = 0xeeee'eeee, .payload_bytes = 0xeeee'eeee};
    const ParseStatus status = parse_packet(packet, options, fields);
    return {status, fields};
}
inline Parsed parse(const Frame& frame, const ParseOptions& options = {}) {
    return parse(frame.view(), options);
}

}  // namespace tributary::test
