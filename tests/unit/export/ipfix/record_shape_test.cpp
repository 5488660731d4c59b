// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/record_shape.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

#include "tests/support/encoder_pair.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

std::size_t shapes_of(const FieldGroups& groups) { return shape_count(RecordLayout::of(groups)); }

}  // namespace

TEST_CASE("RecordShape: a layout has as many shapes as its groups can produce", "[export][unit]") {
    CHECK(shapes_of({}) == kPlainShapes);
    CHECK(
        shapes_of({.extremes = true, .tcp_counts = true, .flow_label = true, .fragments = true}) ==
        kPlainShapes);
    CHECK(shapes_of({.layer2 = true}) == kPlainShapes * 3 * 2);
    CHECK(shapes_of({.mpls = true}) == kPlainShapes * 2);
    CHECK(shapes_of({.tunnel = true}) == kPlainShapes * 5);
    CHECK(shapes_of(kAllGroups) == kPlainShapes * 3 * 2 * 2 * 5);
}

TEST_CASE("RecordShape: of biflows there are more, by the reverse direction and its tunnel",
          "[export][unit]") {
    const auto shapes_of_biflows = [](const FieldGroups& groups) {
        return shape_count(RecordLayout::of(groups, FlowDirection::biflow));
    };
    CHECK(shapes_of_biflows({}) == kPlainShapes * 2);
    CHECK(shapes_of_biflows({.layer2 = true, .mpls = true}) == kPlainShapes * 3 * 2 * 2 * 2);
    CHECK(shapes_of_biflows({.tunnel = true}) == kPlainShapes * 5 * (1 + 5));
    CHECK(shapes_of_biflows(kAllGroups) == kPlainShapes * 3 * 2 * 2 * 5 * (1 + 5));
}

TEST_CASE("RecordShape: index and shape agree", "[export][unit]") {
    const FieldGroups groups = GENERATE(FieldGroups{}, FieldGroups{.layer2 = true},
                                        FieldGroups{.mpls = true}, FieldGroups{.tunnel = true},
                                        FieldGroups{.layer2 = true, .tunnel = true}, kAllGroups);
    const auto direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    const RecordLayout layout = RecordLayout::of(groups, direction);
    for (std::size_t index = 0; index < shape_count(layout); ++index) {
        const RecordShape shape = RecordShape::at(index, layout);
        CHECK(shape.index(layout) == index);
        const bool plain = shape.dot1q_tags == 0 && !shape.no_mac_addresses && !shape.mpls_labels &&
                           shape.tunnel == TunnelShape::none && !shape.has_reverse();
        CHECK(plain == (index < kPlainShapes));
    }
}

TEST_CASE("RecordShape: the shape of a record", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(kAllGroups);
    Record record = record_of(1, 6);
    record.core.key.protocol = 58;
    record.core.key.vlan = {5};
    auto& layer2 = record.group<Layer2Group>(layout.layer2_at);
    layer2.vlan_tags = 255;
    layer2.has_mac_addresses = true;
    record.group<MplsGroup>(layout.mpls_at).labels = 12;
    auto& tunnel = record.group<TunnelGroup>(layout.tunnel_at);
    tunnel = {.id = 7, .kind = TunnelKind::vxlan, .ip_version = 6};
    RecordShape shape = RecordShape::of(bytes_of(record), layout);
    CHECK(shape.ipv6);
    CHECK(shape.icmp);
    CHECK(shape.vlan);
    CHECK(shape.dot1q_tags == 2);
    CHECK_FALSE(shape.no_mac_addresses);
    CHECK(shape.mpls_labels);
    CHECK(shape.tunnel == TunnelShape::vxlan_over_ipv6);
    tunnel.ip_version = 4;
    CHECK(RecordShape::of(bytes_of(record), layout).tunnel == TunnelShape::vxlan_over_ipv4);
    for (const TunnelKind kind : {TunnelKind::ip_in_ip, TunnelKind::gre, TunnelKind::erspan,
                                  TunnelKind::geneve, TunnelKind::gtp_u}) {
        tunnel.kind = kind;
        tunnel.ip_version = 4;
        CHECK(RecordShape::of(bytes_of(record), layout).tunnel == TunnelShape::over_ipv4);
        tunnel.ip_version = 6;
        CHECK(RecordShape::of(bytes_of(record), layout).tunnel == TunnelShape::over_ipv6);
    }

    // The same bytes under a layout without groups: they are not read.
    shape = RecordShape::of(bytes_of(record), {});
    CHECK(shape.index({}) == 7);
    CHECK(shape.dot1q_tags == 0);
    CHECK_FALSE(shape.mpls_labels);
    CHECK(shape.tunnel == TunnelShape::none);
}

TEST_CASE("RecordShape: a biflow's reverse direction adds its own to the shape", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(kAllGroups, FlowDirection::biflow);
    Record record = record_of(1);
    record.group<Layer2Group>(layout.reverse_layer2_at).vlan_tags = 3;
    record.group<Layer2Group>(layout.reverse_layer2_at).has_mac_addresses = true;
    record.group<MplsGroup>(layout.reverse_mpls_at).labels = 1;
    record.group<TunnelGroup>(layout.reverse_tunnel_at) = {.kind = TunnelKind::gre,
                                                           .ip_version = 6};
    RecordShape shape = RecordShape::of(bytes_of(record), layout);
    CHECK_FALSE(shape.has_reverse());
    CHECK(shape.dot1q_tags == 0);
    CHECK(shape.no_mac_addresses);
    CHECK_FALSE(shape.mpls_labels);
    CHECK(shape.reverse_tunnel() == TunnelShape::none);
    record.group<ReverseGroup>(layout.reverse_at).packets = 1;
    shape = RecordShape::of(bytes_of(record), layout);
    CHECK(shape.has_reverse());
    CHECK(shape.dot1q_tags == 2);
    CHECK_FALSE(shape.no_mac_addresses);
    CHECK(shape.mpls_labels);
    CHECK(shape.tunnel == TunnelShape::none);
    CHECK(shape.reverse_tunnel() == TunnelShape::over_ipv6);
    record.group<TunnelGroup>(layout.reverse_tunnel_at) = {};
    shape = RecordShape::of(bytes_of(record), layout);
    CHECK(shape.has_reverse());
    CHECK(shape.reverse_tunnel() == TunnelShape::none);
}
