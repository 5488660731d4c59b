// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/record_elements.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "tests/support/encoder_pair.hpp"
#include "tests/support/octets.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

// The decoder has numbers only; these are IANA's and, with the enterprise bit, tributary's own.
const Elements default_ipv4{1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 60, 136, 152, 153};
const Elements mpls_sections{70, 71, 72, 73, 74, 75, 76, 77, 78, 79};
constexpr std::uint32_t kTunnelType = kOfEnterprise + 1;
constexpr std::uint32_t kTunnelId = kOfEnterprise + 2;
constexpr std::uint32_t kSourceIpv4 = kOfEnterprise + 3;
constexpr std::uint32_t kDestinationIpv4 = kOfEnterprise + 4;
constexpr std::uint32_t kSourceIpv6 = kOfEnterprise + 5;
constexpr std::uint32_t kDestinationIpv6 = kOfEnterprise + 6;
constexpr std::uint32_t kSegment = 351;

/// The record's elements beside those that every IPv4 record has.
Elements beside_default(const DecodedRecord& record) {
    Elements elements = elements_of(record);
    for (const std::uint32_t element : default_ipv4) {
        elements.erase(element);
    }
    return elements;
}

/// The elements of a record of the shape with all groups, in a second, independent form.
Elements expected_elements(const RecordShape& shape) {
    Elements elements{1,  2,  4,  5,  6,   7,   10,  11,  60,  136, 152, 153,
                      25, 26, 52, 53, 352, 197, 218, 219, 220, 221, 222, 223};
    elements.merge(shape.ipv6 ? Elements{27, 28, 31} : Elements{8, 12});
    elements.merge(shape.icmp ? (shape.ipv6 ? Elements{139} : Elements{32}) : Elements{});
    elements.merge(shape.vlan ? Elements{58} : Elements{});
    elements.merge(tags_of(shape) >= 1 ? Elements{243} : Elements{});
    elements.merge(tags_of(shape) == 2 ? Elements{245} : Elements{});
    elements.merge(!has_mac_addresses(shape) ? Elements{} : Elements{56, 80});
    elements.merge(shape.variant<MplsGroup>() != 0 ? Elements(mpls_sections) : Elements{});
    switch (shape.variant<TunnelGroup>()) {
        case TunnelGroup::vxlan_over_ipv4:
            elements.insert(kSegment);
            [[fallthrough]];
        case TunnelGroup::over_ipv4:
            elements.merge(Elements{kTunnelType, kTunnelId, kSourceIpv4, kDestinationIpv4});
            break;
        case TunnelGroup::vxlan_over_ipv6:
            elements.insert(kSegment);
            [[fallthrough]];
        case TunnelGroup::over_ipv6:
            elements.merge(Elements{kTunnelType, kTunnelId, kSourceIpv6, kDestinationIpv6});
            break;
        default:
            break;
    }
    return elements;
}

}  // namespace

TEST_CASE("Record elements: extremes, layer2 and tcp-counts of a doubly tagged TCP flow",
          "[export][unit]") {
    EncoderPair pair(kAllGroups);
    Record record = record_of(1);
    record.core.key.vlan = {100};
    auto& extremes = record.group<ExtremesGroup>(pair.layout.at<ExtremesGroup>());
    extremes = {.minimum_ip_total_length = 40,
                .maximum_ip_total_length = 70'000,
                .minimum_ttl = 63,
                .maximum_ttl = 64};
    auto& layer2 = record.group<Layer2Group>(pair.layout.at<Layer2Group>());
    layer2.layer2_octets = 1140;
    layer2.destination_mac.fill(std::byte{0xD0});
    layer2.source_mac.fill(std::byte{0x50});
    layer2.dot1q_vlan = {100};
    layer2.dot1q_customer_vlan = {200};
    layer2.vlan_tags = 3;
    layer2.has_mac_addresses = true;
    record.group<TcpCountsGroup>(pair.layout.at<TcpCountsGroup>()) = {1, 2, 3, 4, 5, 6};
    const DecodedRecord got = pair.round_trip(record);
    CHECK(got.number(25) == 40);
    CHECK(got.number(26) == 70'000);
    CHECK(got.number(52) == 63);
    CHECK(got.number(53) == 64);
    CHECK(got.number(352) == 1140);
    CHECK(got.values.at(56) == octets({0x50, 0x50, 0x50, 0x50, 0x50, 0x50}));
    CHECK(got.values.at(80) == octets({0xD0, 0xD0, 0xD0, 0xD0, 0xD0, 0xD0}));
    CHECK(got.number(58) == 100);
    CHECK(got.number(243) == 100);
    CHECK(got.number(245) == 200);
    // IANA order: FIN, SYN, RST, PSH, ACK, URG are 219, 218, 220, 221, 222, 223.
    CHECK(got.number(218) == 1);
    CHECK(got.number(219) == 2);
    CHECK(got.number(220) == 3);
    CHECK(got.number(221) == 4);
    CHECK(got.number(222) == 5);
    CHECK(got.number(223) == 6);
}

TEST_CASE("Record elements: tags that are not there are not exported", "[export][unit]") {
    EncoderPair pair(groups_of<Layer2Group>());
    Record record = record_of(1);
    auto& layer2 = record.group<Layer2Group>(pair.layout.at<Layer2Group>());
    DecodedRecord got = pair.round_trip(record);
    CHECK_FALSE(got.has(58));
    CHECK_FALSE(got.has(243));
    CHECK_FALSE(got.has(245));
    layer2.vlan_tags = 1;  // a priority tag: no VLAN in the key
    got = pair.round_trip(record);
    CHECK_FALSE(got.has(58));
    CHECK(got.number(243) == 0);
    CHECK_FALSE(got.has(245));
}

TEST_CASE("Record elements: a link layer without MAC addresses has none exported",
          "[export][unit]") {
    EncoderPair pair(groups_of<Layer2Group>());
    Record record = record_of(1);
    auto& layer2 = record.group<Layer2Group>(pair.layout.at<Layer2Group>());
    layer2.layer2_octets = 77;
    CHECK(beside_default(pair.round_trip(record)) == Elements{352});
    layer2.has_mac_addresses = true;
    CHECK(beside_default(pair.round_trip(record)) == Elements{56, 80, 352});
}

TEST_CASE("Record elements: the flow label, of IPv6 alone", "[export][unit]") {
    EncoderPair pair(groups_of<FlowLabelGroup>());
    Record record = record_of(1, 6);
    record.group<FlowLabelGroup>(pair.layout.at<FlowLabelGroup>()).flow_label = 0xABCDE;
    const DecodedRecord got = pair.round_trip(record);
    CHECK(got.values.at(31) == octets({0x00, 0x0A, 0xBC, 0xDE}));
    CHECK(elements_of(pair.round_trip(record_of(1))) == default_ipv4);
}

TEST_CASE("Record elements: a label stack, from the top, with zeros below its bottom",
          "[export][unit]") {
    EncoderPair pair(groups_of<MplsGroup>());
    Record record = record_of(1);
    CHECK(elements_of(pair.round_trip(record)) == default_ipv4);
    auto& mpls = record.group<MplsGroup>(pair.layout.at<MplsGroup>());
    mpls.sections[0] = {std::byte{0x00}, std::byte{0x06}, std::byte{0x40}};
    mpls.sections[1] = {std::byte{0x00}, std::byte{0x0C}, std::byte{0x81}};
    mpls.labels = 2;
    DecodedRecord got = pair.round_trip(record);
    CHECK(beside_default(got) == mpls_sections);
    CHECK(got.values.at(70) == octets({0x00, 0x06, 0x40}));
    CHECK(got.values.at(71) == octets({0x00, 0x0C, 0x81}));
    CHECK(got.values.at(72) == octets({0, 0, 0}));
    CHECK(got.values.at(79) == octets({0, 0, 0}));
    mpls.sections[9] = {std::byte{0xFF}, std::byte{0xFE}, std::byte{0xF0}};
    mpls.labels = 11;  // more than there are elements
    got = pair.round_trip(record);
    CHECK(got.values.at(79) == octets({0xFF, 0xFE, 0xF0}));
}

TEST_CASE("Record elements: a tunnel over IPv4, its kind, id and outer addresses",
          "[export][unit]") {
    EncoderPair pair(groups_of<TunnelGroup>());
    Record record = record_of(1);
    CHECK(elements_of(pair.round_trip(record)) == default_ipv4);
    auto& tunnel = record.group<TunnelGroup>(pair.layout.at<TunnelGroup>());
    tunnel = {.id = 0x01020304, .kind = TunnelKind::gtp_u, .ip_version = 4};
    tunnel.source[0] = std::byte{203};
    tunnel.source[3] = std::byte{1};
    tunnel.destination[0] = std::byte{203};
    tunnel.destination[3] = std::byte{2};
    const DecodedRecord got = pair.round_trip(record);
    CHECK(beside_default(got) == Elements{kTunnelType, kTunnelId, kSourceIpv4, kDestinationIpv4});
    CHECK(got.values.at(kTunnelType) == octets({6}));
    CHECK(got.values.at(kTunnelId) == octets({1, 2, 3, 4}));
    CHECK(got.values.at(kSourceIpv4) == octets({203, 0, 0, 1}));
    CHECK(got.values.at(kDestinationIpv4) == octets({203, 0, 0, 2}));
    CHECK(got.values.at(8) == octets({192, 0, 0, 1}));  // the flow's own
    CHECK(got.values.at(12) == octets({198, 0, 0, 2}));
}

TEST_CASE("Record elements: a VXLAN over IPv6 has IANA's segment id too", "[export][unit]") {
    EncoderPair pair(groups_of<TunnelGroup>());
    Record record = record_of(1);
    auto& tunnel = record.group<TunnelGroup>(pair.layout.at<TunnelGroup>());
    tunnel = {.id = 0xABCDEF, .kind = TunnelKind::vxlan, .ip_version = 6};
    tunnel.source.fill(std::byte{0x20});
    tunnel.destination.fill(std::byte{0x30});
    const DecodedRecord got = pair.round_trip(record);
    CHECK(beside_default(got) ==
          Elements{kSegment, kTunnelType, kTunnelId, kSourceIpv6, kDestinationIpv6});
    CHECK(got.values.at(kTunnelType) == octets({4}));
    CHECK(got.number(kTunnelId) == 0xABCDEF);
    CHECK(got.values.at(kSegment) == octets({1, 0, 0, 0, 0, 0xAB, 0xCD, 0xEF}));
    CHECK(got.values.at(kSourceIpv6) == Octets(16, std::byte{0x20}));
    CHECK(got.values.at(kDestinationIpv6) == Octets(16, std::byte{0x30}));
}

TEST_CASE("Record elements: tributary's own are under the number that is configured",
          "[export][unit]") {
    const std::uint32_t enterprise = GENERATE(32473U, 1U, 0xFFFF'FFFFU);
    ExportOptions options;
    options.fields = groups_of<TunnelGroup>();
    options.enterprise_number = enterprise;
    EncoderPair pair(options, 1400);
    Record record = record_of(1);
    record.group<TunnelGroup>(pair.layout.at<TunnelGroup>()) = {.kind = TunnelKind::gre,
                                                                .ip_version = 4};
    const std::uint16_t id = pair.round_trip(record).template_id;
    std::size_t own = 0;
    for (const DecodedField& field : pair.decoder.templates().at(id)) {
        CHECK(field.enterprise == ((field.element & kOfEnterprise) != 0 ? enterprise : 0));
        own += field.enterprise != 0 ? 1 : 0;
    }
    CHECK(own == 4);
}

TEST_CASE("Record elements: analysed TCP, and its size only where it is known", "[export][unit]") {
    EncoderPair pair(groups_of<TcpAnalysisGroup>());
    Record record = record_of(1);
    record.core.key.protocol = 17;
    CHECK(elements_of(pair.round_trip(record)) == default_ipv4);
    record.core.key.protocol = 6;
    auto& tcp = record.group<TcpAnalysisGroup>(pair.layout.at<TcpAnalysisGroup>());
    tcp = {.retransmitted_octets = 5'000'000'000,
           .segments = 1,
           .data_segments = 2,
           .retransmissions = 3,
           .duplicates = 4,
           .out_of_order = 5,
           .keep_alives = 6,
           .handshake = 99,
           .sequence = 0xF0000000,
           .window = 65535,
           .zero_windows = 7,
           .syn = 8,
           .fin = 9,
           .rst = 10,
           .overflow = 11};
    Elements analysed{184, 186, 218, 219, 220};
    for (const std::uint32_t number : {7U, 8U, 9U, 10U, 11U, 12U, 13U, 14U, 17U}) {
        analysed.insert(kOfEnterprise + number);
    }
    DecodedRecord got = pair.round_trip(record);
    CHECK(beside_default(got) == analysed);
    const std::vector<std::uint64_t> counts{1, 2, 3, 5'000'000'000, 4, 5, 7, 6};
    for (std::size_t i = 0; i < counts.size(); ++i) {
        CHECK(got.number(kOfEnterprise + 7 + static_cast<std::uint32_t>(i)) == counts[i]);
    }
    CHECK(got.number(kOfEnterprise + 17) == 11);
    CHECK(got.number(184) == 0xF0000000);
    CHECK(got.number(186) == 65535);
    CHECK(got.number(218) == 8);
    CHECK(got.number(219) == 9);
    CHECK(got.number(220) == 10);
    tcp.flow_size = 1234;
    tcp.duration = 7'000'000'001;
    got = pair.round_trip(record);
    CHECK(got.number(kOfEnterprise + 15) == 1234);
    CHECK(got.number(kOfEnterprise + 16) == 7'000'000'001);
}

TEST_CASE("Record elements: flags of analysed TCP give way to those of tcp-counts",
          "[export][unit]") {
    EncoderPair pair(groups_of<TcpCountsGroup, TcpAnalysisGroup>());
    Record record = record_of(1);
    record.core.key.protocol = 6;
    record.group<TcpCountsGroup>(pair.layout.at<TcpCountsGroup>()).syn = 70'000;
    record.group<TcpAnalysisGroup>(pair.layout.at<TcpAnalysisGroup>()).syn = 65'535;
    const DecodedRecord got = pair.round_trip(record);
    CHECK(got.number(218) == 70'000);
    CHECK(got.values.at(218).size() == 4);
}

TEST_CASE("Record elements: flags that tcp-counts does not have come from analysed TCP",
          "[export][unit]") {
    ExportOptions options;
    options.fields = groups_of<TcpCountsGroup, TcpAnalysisGroup>();
    constexpr std::size_t kRst = 2;
    REQUIRE(kTcpCountsElements.at(kRst).name == std::string("tcpRstTotalCount"));
    options.partial.add(kFieldGroupId<TcpCountsGroup>, kRst);
    EncoderPair pair(options, 1400);
    Record record = record_of(1);
    record.core.key.protocol = 6;
    record.group<TcpCountsGroup>(pair.layout.at<TcpCountsGroup>()) = {.syn = 1, .rst = 2};
    auto& tcp = record.group<TcpAnalysisGroup>(pair.layout.at<TcpAnalysisGroup>());
    tcp.syn = 3;
    tcp.rst = 4;
    const DecodedRecord got = pair.round_trip(record);
    CHECK(got.number(218) == 3);
    CHECK(got.number(220) == 2);
}

TEST_CASE("Record elements: fragment flags are one octet", "[export][unit]") {
    EncoderPair pair(groups_of<FragmentsGroup>());
    Record record = record_of(1);
    record.group<FragmentsGroup>(pair.layout.at<FragmentsGroup>()).fragment_flags = 0x60;
    const DecodedRecord got = pair.round_trip(record);
    CHECK(beside_default(got) == Elements{197});
    CHECK(got.values.at(197) == octets({0x60}));
}

TEST_CASE("Record elements: with all groups, every shape has its template and its elements",
          "[export][unit]") {
    const std::size_t limit = GENERATE(512U, 1400U);
    EncoderPair pair(kAllGroups, TimestampUnit::milliseconds, limit);
    for (std::size_t index = 0; index < shape_count(pair.layout); ++index) {
        CAPTURE(index);
        const RecordShape shape = shape_at(index, pair.layout);
        const auto number = static_cast<std::uint16_t>(index);
        const DecodedRecord got = pair.round_trip(record_of_shape(shape, pair.layout, number));
        CHECK(got.template_id == 256 + index);
        CHECK(elements_of(got) == expected_elements(shape));
        CHECK(got.number(7) == index);
    }
    CHECK(pair.decoder.templates().size() == shape_count(pair.layout));
    for (const DecodedMessage& message : pair.templates) {
        CHECK(message.octets <= limit);
    }
}

TEST_CASE("elements: those that can be chosen alone are those of the groups", "[export][unit]") {
    // Of a biflow, which has some elements of its own, and of its first direction.
    const auto elements_of_layout = [](FieldGroups groups) {
        std::set<std::string_view> elements;
        const RecordLayout layout = RecordLayout::of(groups, FlowDirection::biflow);
        for (std::size_t shape = 0; shape < shape_count(layout); ++shape) {
            for (const TemplateField& field :
                 fields_of(shape_at(shape, layout), layout, TimestampUnit::milliseconds)) {
                if (!std::string_view(field.element).starts_with("reverse")) {
                    elements.insert(field.element);
                }
            }
        }
        return elements;
    };
    FieldGroups all = kAllGroups;
    all.set(kFieldGroupId<TcpAnalysisGroup>);
    all.set(kFieldGroupId<PacketDumpGroup>);
    std::set<std::string_view> in_groups = elements_of_layout(all);
    for (const std::string_view element : elements_of_layout({})) {
        in_groups.erase(element);
    }
    std::set<std::string_view> named;
    for (FieldGroupId id = 0; id < kStandardFieldGroups; ++id) {
        FieldGroups group;
        group.set(id);
        const std::set<std::string_view> exported = elements_of_layout(group);
        for (const FieldElement& element : field_group(id).elements) {
            if (element.may_be_chosen) {
                named.insert(element.name);
                CHECK(exported.contains(element.name));
            }
        }
    }
    CHECK(named == in_groups);
}

TEST_CASE("elements: chosen alone, they come without the rest of their group", "[export][unit]") {
    ExportOptions options;
    options.fields = groups_of<ExtremesGroup, TcpCountsGroup>();
    constexpr std::size_t kRst = 2;
    REQUIRE(kTcpCountsElements.at(kRst).name == std::string("tcpRstTotalCount"));
    options.partial.add(kFieldGroupId<TcpCountsGroup>, kRst);
    for (const FlowDirection direction : {FlowDirection::uniflow, FlowDirection::biflow}) {
        EncoderPair pair(options, 1400, direction);
        Record record = record_of(1);
        record.group<TcpCountsGroup>(pair.layout.at<TcpCountsGroup>()) = {.syn = 1, .rst = 5};
        if (direction == FlowDirection::biflow) {
            record.group<ReverseGroup>(pair.layout.reverse_at).packets = 1;
            record.group<TcpCountsGroup>(pair.layout.back_at<TcpCountsGroup>()) = {.rst = 6};
        }
        const DecodedRecord got = pair.round_trip(record);
        CHECK(got.number(220) == 5);
        CHECK_FALSE(got.has(218));
        CHECK(got.has(25));
        CHECK(got.has(kReversed + 220) == (direction == FlowDirection::biflow));
        CHECK_FALSE(got.has(kReversed + 218));
    }
}

TEST_CASE("Record elements: an octet array of an added group, is sent with its length",
          "[export][unit]") {
    static constexpr std::array kElements{FieldElement{.name = "someOctets",
                                                       .number = 950,
                                                       .encoding = Encoding::octet_array,
                                                       .offset = 1,
                                                       .meaning = "octets",
                                                       .owner = ElementOwner::tributary,
                                                       .text_octets = 6}};
    static constexpr FieldGroup kRow{.name = "octets", .elements = kElements, .octets = 8};
    const std::optional<FieldGroupId> id = add_field_group(kRow);
    REQUIRE(id);
    FieldGroups groups;
    groups.set(*id);
    {
        EncoderPair pair(groups);
        Record record = record_of(1);
        auto& group = record.group<std::array<std::uint8_t, 8>>(pair.layout.places.at(*id));
        group = {0xee, 3, 9, 0, 255, 0, 0, 0};
        CHECK(pair.round_trip(record).values.at(kOfEnterprise + 950) == octets({9, 0, 255}));
        group[1] = 200;  // of a damaged disk
        CHECK(pair.round_trip(record).values.at(kOfEnterprise + 950) ==
              octets({9, 0, 255, 0, 0, 0}));
        group[1] = 0;
        CHECK(pair.round_trip(record).values.at(kOfEnterprise + 950).empty());
    }
    remove_field_group(*id);
}
