// SPDX-License-Identifier: Apache-2.0
#include "parsers/header_places.hpp"
#include "parsers/parse_packet.hpp"
#include "tests/fuzz/fuzzed_frame.hpp"

namespace tributary::fuzz {

namespace {

bool is_zero_from(const IpAddress& address, std::ptrdiff_t first) {
    return std::all_of(address.begin() + first, address.end(),
                       [](std::byte value) { return value == std::byte{0}; });
}

/// What lies in the frame lies there wholly.
void check_places(const PacketView& packet, const PacketFields& fields) {
    const auto holds = [&packet](const std::byte* at, std::size_t size) {
        const std::byte* const end = packet.captured.data() + packet.captured.size();
        return at >= packet.captured.data() && at + size <= end;
    };
    demand(fields.mac_addresses == nullptr || holds(fields.mac_addresses, 12));
    demand(fields.mac_addresses != nullptr || packet.link_type != LinkType::ethernet);
    demand((fields.mpls_stack == nullptr) == (fields.mpls_labels == 0));
    demand(fields.mpls_stack == nullptr ||
           holds(fields.mpls_stack, std::size_t{4} * fields.mpls_labels));
    const TunnelFields& tunnel = fields.tunnel;
    demand((tunnel.addresses == nullptr) == (tunnel.kind == TunnelKind::none));
    demand(tunnel.addresses == nullptr || tunnel.ip_version == 4 || tunnel.ip_version == 6);
    demand(tunnel.addresses == nullptr || holds(tunnel.addresses, tunnel.ip_version == 4 ? 8 : 32));
}

void check_link_layer(const PacketFields& fields) {
    demand(fields.vlan_tags > 0 || fields.outer_vlan == VlanId{});
    demand(fields.vlan_tags > 1 || fields.customer_vlan == VlanId{});
    demand(fields.outer_vlan.value < 4096 && fields.customer_vlan.value < 4096);
}

void check_ip(const PacketView& packet, const PacketFields& fields) {
    demand(fields.ip_version == 4 || fields.ip_version == 6);
    if (fields.ip_version == 4) {
        demand(fields.ip_bytes >= 20 &&
               (fields.ip_bytes <= 0xffff || fields.ip_bytes <= packet.wire_bytes));
        demand(is_zero_from(fields.source, 4) && is_zero_from(fields.destination, 4));
        demand(fields.flow_label == 0 && fields.fragment_id <= 0xffff);
    } else {
        demand(fields.ip_bytes >= 40 && fields.flow_label < 1U << 20U);
    }
    demand((fields.fragment_flags & 0x9f) == 0);
    demand(fields.cut_header == CutHeader::none);
}

void check_transport(const PacketFields& fields) {
    const bool is_tcp = fields.protocol == ip_protocol::kTcp;
    const bool has_ports = is_tcp || fields.protocol == ip_protocol::kUdp ||
                           fields.protocol == ip_protocol::kUdpLite ||
                           fields.protocol == ip_protocol::kSctp ||
                           fields.protocol == ip_protocol::kDccp;
    const bool is_icmp =
        fields.protocol == ip_protocol::kIcmp || fields.protocol == ip_protocol::kIcmpV6;
    demand(has_ports || fields.source_port == L4Port{});
    demand(has_ports || is_icmp || fields.destination_port == L4Port{});
    demand(is_tcp ? fields.tcp_control_bits < 0x1000 : fields.tcp_control_bits == 0);
}

/// The headers are found where the parser has read them, by the short way as by the long one.
void check_header_places(const FuzzedFrame& input, const PacketFields& fields) {
    const HeaderPlaces places = locate_headers(input.packet, fields, input.options);
    demand(places == walk_to_headers(input.packet, fields, input.options));
    const std::span<const std::byte> captured = input.packet.captured;
    demand(places.end <= captured.size() && places.network < places.end);
    demand(std::to_integer<unsigned>(captured[places.network]) >> 4U == fields.ip_version);
    const std::size_t source_at = places.network + (fields.ip_version == 4 ? 12U : 8U);
    const std::size_t octets = fields.ip_version == 4 ? 4 : 16;
    demand(source_at + octets <= places.end &&
           std::memcmp(captured.data() + source_at, fields.source.data(), octets) == 0);
    demand(places.transport == HeaderPlaces::kAbsent || places.transport > places.network);
    demand(places.payload == HeaderPlaces::kAbsent || places.payload > places.transport);
}

/// The frame alone in memory of just its size gives the same: nothing behind it is read, nothing is
/// aligned, and nothing of the old fields is left. So it does by the short way that plain packets
/// take.
void check_copy(const FuzzedFrame& input, ParseStatus status, const PacketFields& fields) {
    const FrameCopy frame(input.packet.captured);
    PacketView copy = input.packet;
    copy.captured = frame.bytes();
    PacketFields copied_fields = old_fields();
    demand(parse_packet(copy, input.options, copied_fields) == status);
    demand(status != ParseStatus::ok || same(fields, copied_fields));
    demand(status != ParseStatus::ok || locate_headers(copy, copied_fields, input.options) ==
                                            locate_headers(input.packet, fields, input.options));
}

void check(const FuzzedFrame& input) {
    PacketFields fields;
    const ParseStatus status = parse_header_by_header(input.packet, input.options, fields);
    demand(static_cast<std::size_t>(status) < kParseStatusCount);
    demand(!name_of(status).empty());
    if (status == ParseStatus::ok) {
        check_places(input.packet, fields);
        check_link_layer(fields);
        check_ip(input.packet, fields);
        check_transport(fields);
        check_header_places(input, fields);
    }
    check_copy(input, status, fields);
}

}  // namespace

}  // namespace tributary::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (const auto input = tributary::fuzz::read_input(data, size)) {
        tributary::fuzz::check(*input);
    }
    return 0;
}
