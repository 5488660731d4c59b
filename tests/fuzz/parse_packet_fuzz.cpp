// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "parsers/parse_packet.hpp"

// Input: two bytes that are added to the captured length to make the wire length (big-endian;
// 0xff00 and above make it shorter than what was captured instead), then the frame.
namespace tributary {

namespace {

constexpr std::size_t kWireLengthBytes = 2;

void demand(bool holds) {
    if (!holds) {
        std::abort();
    }
}

bool is_zero_from(const IpAddress& address, std::ptrdiff_t first) {
    return std::all_of(address.begin() + first, address.end(),
                       [](std::byte value) { return value == std::byte{0}; });
}

/// Equal but for the place of the frame.
bool same(const PacketFields& a, const PacketFields& b) {
    return a.source == b.source && a.destination == b.destination &&
           a.source_port == b.source_port && a.destination_port == b.destination_port &&
           a.ip_bytes == b.ip_bytes && a.tcp_control_bits == b.tcp_control_bits &&
           a.outer_vlan == b.outer_vlan && a.customer_vlan == b.customer_vlan &&
           a.vlan_tags == b.vlan_tags && a.ip_version == b.ip_version && a.protocol == b.protocol &&
           a.ip_class_of_service == b.ip_class_of_service && a.ttl == b.ttl;
}

PacketFields old_fields() {
    PacketFields fields;
    fields.source.fill(std::byte{0xee});
    fields.destination.fill(std::byte{0xee});
    fields.source_port = fields.destination_port = {0xeeee};
    fields.ip_bytes = 0xeeee'eeee;
    fields.tcp_control_bits = 0xeeee;
    fields.outer_vlan = fields.customer_vlan = {0xeeee};
    fields.vlan_tags = fields.ip_version = fields.protocol = 0xee;
    fields.ip_class_of_service = fields.ttl = 0xee;
    return fields;
}

void check_fields(const PacketView& packet, const PacketFields& fields) {
    demand(fields.mac_addresses == packet.captured.data());
    demand(fields.vlan_tags > 0 || fields.outer_vlan == VlanId{});
    demand(fields.vlan_tags > 1 || fields.customer_vlan == VlanId{});
    demand(fields.outer_vlan.value < 4096 && fields.customer_vlan.value < 4096);
    demand(14 + std::size_t{fields.vlan_tags} * 4 <= packet.captured.size());

    demand(fields.ip_version == 4 || fields.ip_version == 6);
    if (fields.ip_version == 4) {
        demand(fields.ip_bytes >= 20 &&
               (fields.ip_bytes <= 0xffff || fields.ip_bytes <= packet.wire_bytes));
        demand(is_zero_from(fields.source, 4) && is_zero_from(fields.destination, 4));
    } else {
        demand(fields.ip_bytes >= 40);
    }

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

/// The frame alone in memory of just its size gives the same: nothing behind it is read, nothing is
/// aligned, and nothing of the old fields is left.
void check_copy(const PacketView& packet, ParseStatus status, const PacketFields& fields) {
    const std::size_t size = packet.captured.size();
    const auto memory = std::make_unique<std::byte[]>(size + 1);
    std::byte* const unaligned = memory.get() + 1;
    std::copy(packet.captured.begin(), packet.captured.end(), unaligned);
    PacketView copy = packet;
    copy.captured = {unaligned, size};
    PacketFields copied_fields = old_fields();
    demand(parse_packet(copy, copied_fields) == status);
    demand(status != ParseStatus::ok || same(fields, copied_fields));
}

void check(std::span<const std::byte> frame, std::uint32_t wire_bytes) {
    const PacketView packet{.captured = frame,
                            .wire_bytes = wire_bytes,
                            .link_type = LinkType::ethernet,
                            .ingress_interface = {},
                            .seen_at = {},
                            .clock = {}};
    PacketFields fields;
    const ParseStatus status = parse_packet(packet, fields);
    demand(static_cast<std::size_t>(status) < kParseStatusCount);
    demand(!name_of(status).empty());
    if (status == ParseStatus::ok) {
        check_fields(packet, fields);
    }
    check_copy(packet, status, fields);
}

}  // namespace

}  // namespace tributary

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tributary;
    if (size < kWireLengthBytes) {
        return 0;
    }
    const auto frame = std::as_bytes(std::span(data, size)).subspan(kWireLengthBytes);
    const auto captured = static_cast<std::uint32_t>(frame.size());
    const std::uint32_t more = std::uint32_t{data[0]} << 8U | data[1];
    const std::uint32_t fewer = std::min(captured, more & 0xffU);
    check(frame, more < 0xff00 ? captured + more : captured - fewer);
    return 0;
}
