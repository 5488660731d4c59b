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
    CHECK(shapes_of(groups_of<ExtremesGroup, TcpCountsGroup, FlowLabelGroup, FragmentsGroup>()) ==
          kPlainShapes);
    CHECK(shapes_of(groups_of<Layer2Group>()) == kPlainShapes * 3 * 2);
    CHECK(shapes_of(groups_of<MplsGroup>()) == kPlainShapes * 2);
    CHECK(shapes_of(groups_of<TunnelGroup>()) == kPlainShapes * 5);
    CHECK(shapes_of(kAllGroups) == kPlainShapes * 3 * 2 * 2 * 5);
}

TEST_CASE("RecordShape: of biflows there are more, by the reverse direction and its tunnel",
          "[export][unit]") {
    const auto shapes_of_biflows = [](const FieldGroups& groups) {
        return shape_count(RecordLayout::of(groups, FlowDirection::biflow));
    };
    CHECK(shapes_of_biflows({}) == kPlainShapes * 2);
    CHECK(shapes_of_biflows(groups_of<Layer2Group, MplsGroup>()) == kPlainShapes * 3 * 2 * 2 * 2);
    CHECK(shapes_of_biflows(groups_of<TunnelGroup>()) == kPlainShapes * 5 * (1 + 5));
    CHECK(shapes_of_biflows(kAllGroups) == kPlainShapes * 3 * 2 * 2 * 5 * (1 + 5));
}

TEST_CASE("RecordShape: index and shape agree", "[export][unit]") {
    const FieldGroups groups =
        GENERATE(FieldGroups{}, groups_of<Layer2Group>(), groups_of<MplsGroup>(),
                 groups_of<TunnelGroup>(), groups_of<Layer2Group, TunnelGroup>(), kAllGroups);
    const auto direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    const RecordLayout layout = RecordLayout::of(groups, direction);
    CHECK(shape_count(layout) == record_kinds(layout));
    for (std::size_t index = 0; index < shape_count(layout); ++index) {
        const RecordShape shape = shape_at(index, layout);
        CHECK(shape_index(bytes_of(record_of_shape(shape, layout, 1)), layout) == index);
        const bool plain = tags_of(shape) == 0 && has_mac_addresses(shape) &&
                           shape.variant<MplsGroup>() == MplsGroup::without_labels &&
                           shape.variant<TunnelGroup>() == TunnelGroup::no_tunnel &&
                           !shape.has_reverse;
        CHECK(plain == (index < kPlainShapes));
    }
}

TEST_CASE("RecordShape: the shape of a record", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(kAllGroups);
    Record record = record_of(1, 6);
    record.core.key.protocol = 58;
    record.core.key.vlan = {5};
    auto& layer2 = record.group<Layer2Group>(layout.at<Layer2Group>());
    layer2.vlan_tags = 255;
    layer2.has_mac_addresses = true;
    record.group<MplsGroup>(layout.at<MplsGroup>()).labels = 12;
    auto& tunnel = record.group<TunnelGroup>(layout.at<TunnelGroup>());
    tunnel = {.id = 7, .kind = TunnelKind::vxlan, .ip_version = 6};
    RecordShape shape = shape_of(bytes_of(record), layout);
    CHECK(shape.ipv6);
    CHECK(shape.icmp);
    CHECK(shape.vlan);
    CHECK(tags_of(shape) == 2);
    CHECK(has_mac_addresses(shape));
    CHECK(shape.variant<MplsGroup>() == MplsGroup::with_labels);
    CHECK(shape.variant<TunnelGroup>() == TunnelGroup::vxlan_over_ipv6);
    tunnel.ip_version = 4;
    CHECK(shape_of(bytes_of(record), layout).variant<TunnelGroup>() ==
          TunnelGroup::vxlan_over_ipv4);
    for (const TunnelKind kind : {TunnelKind::ip_in_ip, TunnelKind::gre, TunnelKind::erspan,
                                  TunnelKind::geneve, TunnelKind::gtp_u}) {
        tunnel.kind = kind;
        tunnel.ip_version = 4;
        CHECK(shape_of(bytes_of(record), layout).variant<TunnelGroup>() == TunnelGroup::over_ipv4);
        tunnel.ip_version = 6;
        CHECK(shape_of(bytes_of(record), layout).variant<TunnelGroup>() == TunnelGroup::over_ipv6);
    }

    // The same bytes under a layout without groups: they are not read.
    shape = shape_of(bytes_of(record), {});
    CHECK(shape_index(bytes_of(record), {}) == 7);
    CHECK(tags_of(shape) == 0);
    CHECK(shape.variant<MplsGroup>() == MplsGroup::without_labels);
    CHECK(shape.variant<TunnelGroup>() == TunnelGroup::no_tunnel);
}

TEST_CASE("RecordShape: a biflow's reverse direction adds its own to the shape", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(kAllGroups, FlowDirection::biflow);
    Record record = record_of(1);
    record.group<Layer2Group>(layout.back_at<Layer2Group>()).vlan_tags = 3;
    record.group<Layer2Group>(layout.back_at<Layer2Group>()).has_mac_addresses = true;
    record.group<MplsGroup>(layout.back_at<MplsGroup>()).labels = 1;
    record.group<TunnelGroup>(layout.back_at<TunnelGroup>()) = {.kind = TunnelKind::gre,
                                                                .ip_version = 6};
    RecordShape shape = shape_of(bytes_of(record), layout);
    CHECK_FALSE(shape.has_reverse);
    CHECK(tags_of(shape) == 0);
    CHECK(!has_mac_addresses(shape));
    CHECK(shape.variant<MplsGroup>() == MplsGroup::without_labels);
    CHECK(shape.reverse_variant<TunnelGroup>() == TunnelGroup::no_tunnel);
    record.group<ReverseGroup>(layout.reverse_at).packets = 1;
    shape = shape_of(bytes_of(record), layout);
    CHECK(shape.has_reverse);
    CHECK(tags_of(shape) == 2);
    CHECK(has_mac_addresses(shape));
    CHECK(shape.variant<MplsGroup>() == MplsGroup::with_labels);
    CHECK(shape.variant<TunnelGroup>() == TunnelGroup::no_tunnel);
    CHECK(shape.reverse_variant<TunnelGroup>() == TunnelGroup::over_ipv6);
    record.group<TunnelGroup>(layout.back_at<TunnelGroup>()) = {};
    shape = shape_of(bytes_of(record), layout);
    CHECK(shape.has_reverse);
    CHECK(shape.reverse_variant<TunnelGroup>() == TunnelGroup::no_tunnel);
}
