// SPDX-License-Identifier: Apache-2.0
#include "export/messages/flow_view.hpp"

#include <algorithm>
#include <limits>

#include "export/ipfix/ntp_time.hpp"
#include "export/ipfix/reverse_elements.hpp"

namespace tributary {
namespace {

using Bytes = std::span<const std::byte>;

/// IANA elements that a listing shows.
enum Ie : std::uint16_t {
    octet_delta_count = 1,
    packet_delta_count = 2,
    protocol_identifier = 4,
    ip_class_of_service = 5,
    tcp_control_bits = 6,
    source_transport_port = 7,
    source_ipv4_address = 8,
    destination_transport_port = 11,
    destination_ipv4_address = 12,
    ingress_interface = 10,
    source_ipv4_prefix_length = 9,
    destination_ipv4_prefix_length = 13,
    source_ipv6_address = 27,
    destination_ipv6_address = 28,
    source_ipv6_prefix_length = 29,
    destination_ipv6_prefix_length = 30,
    icmp_type_code_ipv4 = 32,
    source_ipv4_prefix = 44,
    destination_ipv4_prefix = 45,
    vlan_id = 58,
    ip_version = 60,
    octet_total_count = 85,
    packet_total_count = 86,
    flow_end_reason = 136,
    icmp_type_code_ipv6 = 139,
    flow_start_seconds = 150,
    flow_end_seconds = 151,
    flow_start_milliseconds = 152,
    flow_end_milliseconds = 153,
    flow_start_microseconds = 154,
    flow_end_microseconds = 155,
    flow_start_nanoseconds = 156,
    flow_end_nanoseconds = 157,
    destination_ipv6_prefix = 169,
    source_ipv6_prefix = 170,
    udp_source_port = 180,
    udp_destination_port = 181,
    tcp_source_port = 182,
    tcp_destination_port = 183,
    ip_diff_serv_code_point = 195,
    dot1q_vlan_id = 243,
};

/// A time beyond 64 bits of nanoseconds becomes the latest time in them.
Timestamp to_timestamp(std::uint64_t value, std::uint64_t nanoseconds_per_unit) noexcept {
    const auto limit =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / nanoseconds_per_unit;
    return Timestamp{std::chrono::nanoseconds{
        static_cast<std::int64_t>(std::min(value, limit) * nanoseconds_per_unit)}};
}

Timestamp read_time(std::uint16_t element, Bytes bytes) noexcept {
    switch (element) {
        case flow_start_seconds:
        case flow_end_seconds:
            return to_timestamp(read_unsigned(bytes), 1'000'000'000);
        case flow_start_milliseconds:
        case flow_end_milliseconds:
            return to_timestamp(read_unsigned(bytes), 1'000'000);
        case flow_start_microseconds:
        case flow_end_microseconds:
            return to_timestamp(static_cast<std::uint64_t>(read_ntp_time(bytes, 1'000'000)), 1000);
        default:
            return to_timestamp(static_cast<std::uint64_t>(read_ntp_time(bytes, 1'000'000'000)), 1);
    }
}

/// Takes an address. An exporter may fill the addresses of the version that the flow does not have
/// with zeros, and may have the prefix beside the whole address.
void set_address(FlowKey& key, IpAddress& address, FlowAddress& found, Bytes bytes,
                 bool is_prefix) noexcept {
    const std::uint8_t version = bytes.size() == 4 ? 4 : 6;
    if ((version == 6 && bytes.size() != 16) || (is_prefix && found.is_known && !found.is_prefix)) {
        return;
    }
    const bool is_zero = std::all_of(bytes.begin(), bytes.end(),
                                     [](std::byte octet) { return octet == std::byte{}; });
    if (is_zero && key.ip_version != 0) {
        if (key.ip_version == version && !found.is_known) {
            found = {.is_known = true, .is_prefix = is_prefix};
        }
        return;
    }
    address = {};
    std::copy(bytes.begin(), bytes.end(), address.begin());
    key.ip_version = version;
    found = {.is_known = true, .is_prefix = is_prefix};
}

template <std::unsigned_integral Integer>
Integer read_as(Bytes bytes) noexcept {
    return static_cast<Integer>(read_unsigned(bytes));
}

/// What can be told only when all fields of a record are read.
struct Pending {
    std::optional<std::uint64_t> source_ipv4_bits;
    std::optional<std::uint64_t> source_ipv6_bits;
    std::optional<std::uint64_t> destination_ipv4_bits;
    std::optional<std::uint64_t> destination_ipv6_bits;
    std::optional<std::uint16_t> icmp_type_code;
};

void view_addresses(FlowView& flow, Pending& pending, std::uint16_t element, Bytes bytes) noexcept {
    FlowKey& key = flow.core.key;
    switch (element) {
        case source_ipv4_address:
        case source_ipv6_address:
        case source_ipv4_prefix:
        case source_ipv6_prefix: {
            const bool is_prefix = element == source_ipv4_prefix || element == source_ipv6_prefix;
            return set_address(key, key.source, flow.source, bytes, is_prefix);
        }
        case destination_ipv4_address:
        case destination_ipv6_address:
        case destination_ipv4_prefix:
        case destination_ipv6_prefix: {
            const bool is_prefix =
                element == destination_ipv4_prefix || element == destination_ipv6_prefix;
            return set_address(key, key.destination, flow.destination, bytes, is_prefix);
        }
        case source_ipv4_prefix_length:
            pending.source_ipv4_bits = read_unsigned(bytes);
            return;
        case source_ipv6_prefix_length:
            pending.source_ipv6_bits = read_unsigned(bytes);
            return;
        case destination_ipv4_prefix_length:
            pending.destination_ipv4_bits = read_unsigned(bytes);
            return;
        case destination_ipv6_prefix_length:
            pending.destination_ipv6_bits = read_unsigned(bytes);
            return;
        case ip_version:
            if (const auto version = read_unsigned(bytes);
                key.ip_version == 0 && (version == 4 || version == 6)) {
                key.ip_version = static_cast<std::uint8_t>(version);
            }
            return;
        default:
            return;
    }
}

/// The fields of the flow key beside the addresses.
void view_key(FlowView& flow, Pending& pending, std::uint16_t element, Bytes bytes) noexcept {
    FlowKey& key = flow.core.key;
    switch (element) {
        case source_transport_port:
        case udp_source_port:
        case tcp_source_port:
            key.source_port = {read_as<std::uint16_t>(bytes)};
            flow.has_source_port = true;
            return;
        case destination_transport_port:
        case udp_destination_port:
        case tcp_destination_port:
            key.destination_port = {read_as<std::uint16_t>(bytes)};
            flow.has_destination_port = true;
            return;
        case icmp_type_code_ipv4:
        case icmp_type_code_ipv6:
            // An exporter may send both, one of them 0.
            pending.icmp_type_code = pending.icmp_type_code.value_or(0) != 0
                                         ? pending.icmp_type_code
                                         : read_as<std::uint16_t>(bytes);
            return;
        case protocol_identifier:
            key.protocol = read_as<std::uint8_t>(bytes);
            flow.has_protocol = true;
            return;
        case vlan_id:
        case dot1q_vlan_id:
            key.vlan = key.vlan.value != 0 ? key.vlan : VlanId{read_as<std::uint16_t>(bytes)};
            return;
        case ingress_interface:
            key.ingress_interface = {read_as<std::uint32_t>(bytes)};
            flow.has_interface = true;
            return;
        case ip_class_of_service:
            flow.has_class_of_service = true;
            return;
        case ip_diff_serv_code_point:
            flow.code_point = read_as<std::uint8_t>(bytes);
            return;
        case tcp_control_bits:
            flow.has_flags = true;
            return;
        default:
            return;
    }
}

/// @param most  bits of an address
void set_bits(FlowAddress& address, const std::optional<std::uint64_t>& bits,
              std::uint8_t most) noexcept {
    if (address.is_prefix && bits && *bits <= most) {
        address.prefix_bits = static_cast<std::uint8_t>(*bits);
    }
}

void view_pending(FlowView& flow, const Pending& pending) noexcept {
    constexpr std::uint8_t kIpv4Bits = 32;
    constexpr std::uint8_t kIpv6Bits = 128;
    FlowKey& key = flow.core.key;
    if (key.ip_version == 4) {
        set_bits(flow.source, pending.source_ipv4_bits, kIpv4Bits);
        set_bits(flow.destination, pending.destination_ipv4_bits, kIpv4Bits);
    } else {
        set_bits(flow.source, pending.source_ipv6_bits, kIpv6Bits);
        set_bits(flow.destination, pending.destination_ipv6_bits, kIpv6Bits);
    }
    // Some exporters send both port and type code, one of them 0.
    if (pending.icmp_type_code && flow.has_protocol && is_icmp(key) &&
        key.destination_port.value == 0) {
        key.destination_port = {*pending.icmp_type_code};
        flow.has_destination_port = true;
    }
}

/// The counts and times of one direction: `flow` is FlowRecordCore or ReverseGroup.
template <class Direction>
void view_measures(Direction& flow, std::uint16_t element, Bytes bytes) noexcept {
    switch (element) {
        case octet_delta_count:
        case octet_total_count:
            flow.octets = flow.octets != 0 ? flow.octets : read_unsigned(bytes);
            return;
        case packet_delta_count:
        case packet_total_count:
            flow.packets = flow.packets != 0 ? flow.packets : read_unsigned(bytes);
            return;
        case tcp_control_bits:
            flow.tcp_control_bits = read_as<std::uint16_t>(bytes);
            return;
        case ip_class_of_service:
            flow.ip_class_of_service = read_as<std::uint8_t>(bytes);
            return;
        case flow_start_seconds:
        case flow_start_milliseconds:
        case flow_start_microseconds:
        case flow_start_nanoseconds:
            flow.start = read_time(element, bytes);
            return;
        case flow_end_seconds:
        case flow_end_milliseconds:
        case flow_end_microseconds:
        case flow_end_nanoseconds:
            flow.end = read_time(element, bytes);
            return;
        default:
            return;
    }
}

/// Tributary's own elements. Outer addresses of both versions are in no record.
void view_tunnel(FlowView& flow, TributaryElement element, Bytes bytes) noexcept {
    TunnelGroup& tunnel = flow.tunnel;
    const auto set_address = [&tunnel, bytes](IpAddress& address, FlowAddress& found) {
        if (bytes.size() == 4 || bytes.size() == 16) {
            std::copy(bytes.begin(), bytes.end(), address.begin());
            tunnel.ip_version = bytes.size() == 4 ? 4 : 6;
            found.is_known = true;
        }
    };
    // The length stands beside the address itself.
    const auto set_length = [bytes](FlowAddress& found) {
        constexpr std::uint64_t kMost = 128;
        const std::uint64_t bits = read_unsigned(bytes);
        found.is_prefix = true;
        found.prefix_bits =
            bits <= kMost ? std::optional(static_cast<std::uint8_t>(bits)) : std::nullopt;
    };
    switch (element) {
        case TributaryElement::tunnel_type:
            tunnel.kind = static_cast<TunnelKind>(read_as<std::uint8_t>(bytes));
            return;
        case TributaryElement::tunnel_id:
            tunnel.id = read_as<std::uint32_t>(bytes);
            return;
        case TributaryElement::tunnel_source_ipv4_address:
        case TributaryElement::tunnel_source_ipv6_address:
            return set_address(tunnel.source, flow.outer_source);
        case TributaryElement::tunnel_destination_ipv4_address:
        case TributaryElement::tunnel_destination_ipv6_address:
            return set_address(tunnel.destination, flow.outer_destination);
        case TributaryElement::tunnel_source_ipv4_prefix_length:
        case TributaryElement::tunnel_source_ipv6_prefix_length:
            return set_length(flow.outer_source);
        case TributaryElement::tunnel_destination_ipv4_prefix_length:
        case TributaryElement::tunnel_destination_ipv6_prefix_length:
            return set_length(flow.outer_destination);
        default:
            return;
    }
}

/// Keeps the counts that listings show.
void view_counts(FlowView& flow, const IpfixElement& element, Bytes bytes) noexcept {
    if (element.listed) {
        flow.counts.at(*element.listed) = read_unsigned(bytes);
    }
    if (element.listed_reverse) {
        flow.reverse_counts.at(*element.listed_reverse) = read_unsigned(bytes);
    }
}

}  // namespace

bool is_icmp(const FlowKey& key) noexcept {
    return key.protocol == ip_protocol::kIcmp || key.protocol == ip_protocol::kIcmpV6;
}

bool has_ports(const FlowKey& key) noexcept {
    switch (key.protocol) {
        case ip_protocol::kTcp:
        case ip_protocol::kUdp:
        case ip_protocol::kDccp:
        case ip_protocol::kSctp:
        case ip_protocol::kUdpLite:
            return true;
        case ip_protocol::kIcmp:
        case ip_protocol::kIcmpV6:
            return false;
        default:
            return key.source_port.value != 0 || key.destination_port.value != 0;
    }
}

std::optional<std::uint16_t> FlowView::source_port() const noexcept {
    const bool is_port = has_source_port && (!has_protocol || has_ports(core.key));
    return is_port ? std::optional(core.key.source_port.value) : std::nullopt;
}

std::optional<std::uint16_t> FlowView::destination_port() const noexcept {
    const bool is_port = has_destination_port && (!has_protocol || has_ports(core.key));
    return is_port ? std::optional(core.key.destination_port.value) : std::nullopt;
}

std::optional<std::uint16_t> FlowView::tcp_flags() const noexcept {
    const bool may_be_tcp = !has_protocol || core.key.protocol == ip_protocol::kTcp;
    return has_flags && may_be_tcp ? std::optional(core.tcp_control_bits) : std::nullopt;
}

FlowView view_flow(const IpfixRecord& record) noexcept {
    FlowView flow;
    flow.source.is_known = flow.destination.is_known = false;
    flow.outer_source.is_known = flow.outer_destination.is_known = false;
    flow.has_source_port = flow.has_destination_port = flow.has_protocol = false;
    flow.has_class_of_service = flow.has_flags = flow.has_interface = false;
    Pending pending;
    for (std::size_t index = 0; index < record.values.size(); ++index) {
        const IpfixElement& field = *record.layout->fields[index].element;
        const Bytes value = record.values[index];
        if (value.empty()) {
            continue;  // of variable length: unknown, rather than 0
        }
        view_counts(flow, field, value);
        if (field.enterprise == kReverseEnterprise) {
            view_measures(flow.reverse, field.number, value);
        } else if (field.enterprise != 0) {
            view_tunnel(flow, field.own, value);
        } else if (field.number == flow_end_reason) {
            flow.core.end_reason = static_cast<FlowEndReason>(
                std::min<std::uint64_t>(read_unsigned(value), kFlowEndReasonCount));
        } else {
            view_addresses(flow, pending, field.number, value);
            view_key(flow, pending, field.number, value);
            view_measures(flow.core, field.number, value);
        }
    }
    view_pending(flow, pending);
    return flow;
}

}  // namespace tributary
