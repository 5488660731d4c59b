// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/record_shape.hpp"

#include <algorithm>

namespace tributary {
namespace {

// An index is a number with one digit for each property, the lowest first; the bases below are the
// numbers of values of a digit. The properties of a group that was not chosen have no digit, so
// that there are no more shapes, and no more template ids, than the layout can produce.
constexpr std::size_t kTagCounts = 3;
constexpr auto kTunnelShapes = static_cast<std::size_t>(TunnelShape::count);
constexpr auto kTcpShapes = static_cast<std::size_t>(TcpShape::count);

/// Calls `digit(property, base)` for each property of the shape that has a digit.
template <class Shape, class Digit>
void for_each_digit(Shape& shape, const RecordLayout& layout, Digit digit) noexcept {
    digit(shape.ipv6, 2);
    digit(shape.icmp, 2);
    digit(shape.vlan, 2);
    if (layout.layer2_at != 0) {
        digit(shape.dot1q_tags, kTagCounts);
        digit(shape.no_mac_addresses, 2);
    }
    if (layout.mpls_at != 0) {
        digit(shape.mpls_labels, 2);
    }
    if (layout.tunnel_at != 0) {
        digit(shape.tunnel, kTunnelShapes);
    }
    if (layout.tcp_analysis_at != 0) {
        digit(shape.tcp, kTcpShapes);
    }
    if (layout.reverse_at != 0) {
        digit(shape.reverse, 1 + (layout.reverse_tunnel_at != 0 ? kTunnelShapes : 1));
    }
}

TunnelShape tunnel_shape(const TunnelGroup& tunnel) noexcept {
    const bool over_ipv6 = tunnel.ip_version == 6;
    switch (tunnel.kind) {
        case TunnelKind::none:
            return TunnelShape::none;
        case TunnelKind::vxlan:
            return over_ipv6 ? TunnelShape::vxlan_over_ipv6 : TunnelShape::vxlan_over_ipv4;
        default:
            return over_ipv6 ? TunnelShape::over_ipv6 : TunnelShape::over_ipv4;
    }
}

std::uint8_t tags_of(const Layer2Group& layer2) noexcept {
    return std::min<std::uint8_t>(layer2.vlan_tags, kTagCounts - 1);
}

/// The group of type `Group` that lies at `at`.
template <class Group>
const Group& group(const std::byte* record, std::uint16_t at) noexcept {
    return *reinterpret_cast<const Group*>(record + at);
}

TcpShape tcp_shape(const TcpAnalysisGroup& tcp) noexcept {
    return tcp.has_size() ? TcpShape::with_size : TcpShape::plain;
}

/// Makes the shape of a biflow's first direction that of both.
void add_reverse(RecordShape& shape, const std::byte* record, const RecordLayout& layout) noexcept {
    shape.reverse = 1;
    if (layout.reverse_layer2_at != 0) {
        const auto& layer2 = group<Layer2Group>(record, layout.reverse_layer2_at);
        shape.dot1q_tags = std::max(shape.dot1q_tags, tags_of(layer2));
        shape.no_mac_addresses = shape.no_mac_addresses && !layer2.has_mac_addresses;
    }
    if (layout.reverse_mpls_at != 0) {
        shape.mpls_labels =
            shape.mpls_labels || group<MplsGroup>(record, layout.reverse_mpls_at).labels != 0;
    }
    if (shape.tcp != TcpShape::none) {
        shape.tcp = std::max(
            shape.tcp, tcp_shape(group<TcpAnalysisGroup>(record, layout.reverse_tcp_analysis_at)));
    }
    if (layout.reverse_tunnel_at != 0) {
        const TunnelShape tunnel =
            tunnel_shape(group<TunnelGroup>(record, layout.reverse_tunnel_at));
        shape.reverse = static_cast<std::uint8_t>(1 + static_cast<unsigned>(tunnel));
    }
}

}  // namespace

std::size_t RecordShape::index(const RecordLayout& layout) const noexcept {
    std::size_t index = 0;
    std::size_t weight = 1;
    for_each_digit(*this, layout, [&](auto property, std::size_t base) {
        index += static_cast<std::size_t>(property) * weight;
        weight *= base;
    });
    return index;
}

RecordShape RecordShape::at(std::size_t index, const RecordLayout& layout) noexcept {
    RecordShape shape;
    for_each_digit(shape, layout, [&index]<class Property>(Property& property, std::size_t base) {
        property = static_cast<Property>(index % base);
        index /= base;
    });
    return shape;
}

RecordShape RecordShape::of(const std::byte* record, const RecordLayout& layout) noexcept {
    const FlowKey& key = group<FlowRecordCore>(record, 0).key;
    RecordShape shape;
    shape.ipv6 = key.ip_version != 4;
    shape.icmp = key.protocol == (shape.ipv6 ? ip_protocol::kIcmpV6 : ip_protocol::kIcmp);
    shape.vlan = key.vlan.value != 0;
    if (layout.layer2_at != 0) {
        const auto& layer2 = group<Layer2Group>(record, layout.layer2_at);
        shape.dot1q_tags = tags_of(layer2);
        shape.no_mac_addresses = !layer2.has_mac_addresses;
    }
    if (layout.mpls_at != 0) {
        shape.mpls_labels = group<MplsGroup>(record, layout.mpls_at).labels != 0;
    }
    if (layout.tunnel_at != 0) {
        shape.tunnel = tunnel_shape(group<TunnelGroup>(record, layout.tunnel_at));
    }
    if (layout.tcp_analysis_at != 0 && key.protocol == ip_protocol::kTcp) {
        shape.tcp = tcp_shape(group<TcpAnalysisGroup>(record, layout.tcp_analysis_at));
    }
    if (layout.reverse_at != 0 && group<ReverseGroup>(record, layout.reverse_at).packets != 0) {
        add_reverse(shape, record, layout);
    }
    return shape;
}

std::size_t shape_index(const std::byte* record, const RecordLayout& layout) noexcept {
    return RecordShape::of(record, layout).index(layout);
}

std::size_t shape_count(const RecordLayout& layout) noexcept {
    const RecordShape any;
    std::size_t count = 1;
    for_each_digit(any, layout, [&count](auto, std::size_t base) { count *= base; });
    return count;
}

}  // namespace tributary
