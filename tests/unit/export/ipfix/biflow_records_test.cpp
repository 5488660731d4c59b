// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <vector>

#include "export/export_error.hpp"
#include "export/ipfix/record_elements.hpp"
#include "tests/support/encoder_pair.hpp"
#include "tests/support/octets.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// How the records of biflows are exported (RFC 5103). The decoder has numbers only: these are
// IANA's, kReversed is the enterprise 29305, and kOfEnterprise tributary's own.

namespace {

constexpr std::uint32_t kBiflowDirection = 239;
constexpr std::uint32_t kOwnReversed = kOfEnterprise | 0x4000;

/// The elements of every IPv4 record except ICMP.
const Elements one_direction{1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 60, 136, 152, 153, kBiflowDirection};

Elements reversed(const Elements& elements) {
    Elements made;
    for (const std::uint32_t element : elements) {
        made.insert(kReversed + element);
    }
    return made;
}

/// The record's elements beside those that every record of this kind has.
Elements beside_default(const DecodedRecord& record) {
    Elements elements = elements_of(record);
    Elements always = one_direction;
    always.merge(reversed({1, 2, 5, 6, 152, 153}));
    for (const std::uint32_t element : always) {
        elements.erase(element);
    }
    return elements;
}

EncoderPair biflow_pair(FieldGroups groups = {}, TimestampUnit unit = TimestampUnit::milliseconds) {
    return EncoderPair(groups, unit, 1400, FlowDirection::biflow);
}

/// record_of() with 3 packets back, of time 1'600'000'000.3 to 1'600'000'002.1 s.
Record answered(const RecordLayout& layout, std::uint8_t ip_version = 4) {
    Record record = record_of(4711, ip_version);
    record.core.key.protocol = 6;
    record.core.tcp_control_bits = 0x013;
    record.core.ip_class_of_service = 0x10;
    record.group<ReverseGroup>(layout.reverse_at) = {
        .tcp_control_bits = 0x112,
        .ip_class_of_service = 0x88,
        .packets = 3,
        .octets = 0x0102'0304'0506'0708,
        .start = Timestamp{milliseconds{1'600'000'000'300}},
        .end = Timestamp{milliseconds{1'600'000'002'100}}};
    return record;
}

}  // namespace

TEST_CASE("Biflow records: both directions of a TCP flow, each with its values", "[export][unit]") {
    EncoderPair pair = biflow_pair();
    const DecodedRecord got = pair.round_trip(answered(pair.layout));
    Elements expected = one_direction;
    expected.merge(reversed({1, 2, 5, 6, 152, 153}));
    CHECK(elements_of(got) == expected);
    CHECK(got.values.at(8) == octets({192, 0, 0, 1}));
    CHECK(got.values.at(12) == octets({198, 0, 0, 2}));
    CHECK(got.number(7) == 4711);
    CHECK(got.number(11) == 53);
    CHECK(got.number(2) == 10);
    CHECK(got.number(1) == 1000);
    CHECK(got.number(5) == 0x10);
    CHECK(got.number(6) == 0x013);
    CHECK(got.number(152) == 1'600'000'000'250);
    CHECK(got.number(153) == 1'600'000'000'750);
    CHECK(got.number(136) == 1);
    CHECK(got.values.at(kBiflowDirection) == octets({1}));
    CHECK(got.number(kReversed + 2) == 3);
    CHECK(got.number(kReversed + 1) == 0x0102'0304'0506'0708);
    CHECK(got.number(kReversed + 5) == 0x88);
    CHECK(got.number(kReversed + 6) == 0x112);
    CHECK(got.number(kReversed + 152) == 1'600'000'000'300);
    CHECK(got.number(kReversed + 153) == 1'600'000'002'100);
}

TEST_CASE("Biflow records: without a packet back there is no reverse element", "[export][unit]") {
    EncoderPair pair = biflow_pair();
    Record record = answered(pair.layout);
    auto& reverse = record.group<ReverseGroup>(pair.layout.reverse_at);
    reverse.packets = 0;
    reverse.biflow_direction = BiflowDirection::arbitrary;
    const DecodedRecord got = pair.round_trip(record);
    CHECK(elements_of(got) == one_direction);
    CHECK(got.values.at(kBiflowDirection) == octets({0}));
    CHECK(got.template_id == 256);
    reverse.packets = 1;
    CHECK(pair.round_trip(record).template_id == 256 + kPlainShapes);
}

TEST_CASE("Biflow records: ICMP has a direction and no reverse", "[export][unit]") {
    EncoderPair pair = biflow_pair();
    Record record = record_of(0);
    record.core.key.protocol = 1;
    record.core.key.destination_port = {0x0800};
    record.group<ReverseGroup>(pair.layout.reverse_at) = {};
    Elements expected = one_direction;
    expected.insert(32);
    CHECK(elements_of(pair.round_trip(record)) == expected);
}

TEST_CASE("Biflow records: micro- and nanoseconds of both directions", "[export][unit]") {
    const auto unit = GENERATE(TimestampUnit::microseconds, TimestampUnit::nanoseconds);
    const std::uint32_t start = unit == TimestampUnit::microseconds ? 154 : 156;
    EncoderPair pair = biflow_pair({}, unit);
    Record record = answered(pair.layout);
    auto& reverse = record.group<ReverseGroup>(pair.layout.reverse_at);
    reverse.start = Timestamp{nanoseconds{1'600'000'000'500'000'000}};
    reverse.end = Timestamp{nanoseconds{1'600'000'001'000'000'000}};
    const DecodedRecord got = pair.round_trip(record);
    const std::uint64_t since_1900 = 1'600'000'000ULL + 2'208'988'800ULL;
    CHECK(got.number(start) == (since_1900 << 32U | 0x4000'0000U));
    CHECK(got.number(kReversed + start) == (since_1900 << 32U | 0x8000'0000U));
    CHECK(got.number(kReversed + start + 1) == (since_1900 + 1) << 32U);
}

TEST_CASE("Biflow records: extremes, tcp-counts and fragments of each direction",
          "[export][unit]") {
    EncoderPair pair = biflow_pair(groups_of<ExtremesGroup, TcpCountsGroup, FragmentsGroup>());
    const RecordLayout& at = pair.layout;
    Record record = answered(at);
    record.group<ExtremesGroup>(at.at<ExtremesGroup>()) = {40, 70'000, 63, 64};
    record.group<ExtremesGroup>(at.back_at<ExtremesGroup>()) = {52, 1500, 118, 119};
    record.group<TcpCountsGroup>(at.at<TcpCountsGroup>()) = {1, 2, 3, 4, 5, 6};
    record.group<TcpCountsGroup>(at.back_at<TcpCountsGroup>()) = {11, 12, 13, 14, 15, 16};
    record.group<FragmentsGroup>(at.at<FragmentsGroup>()).fragment_flags = 0x40;
    record.group<FragmentsGroup>(at.back_at<FragmentsGroup>()).fragment_flags = 0x20;
    const DecodedRecord got = pair.round_trip(record);
    Elements expected{25, 26, 52, 53, 197, 218, 219, 220, 221, 222, 223};
    expected.merge(reversed(expected));
    CHECK(beside_default(got) == expected);
    const std::vector<std::uint32_t> elements{25, 26, 52, 53, 197, 218, 219, 220, 221, 222, 223};
    std::vector<std::uint64_t> there;
    std::vector<std::uint64_t> back;
    for (const std::uint32_t element : elements) {
        there.push_back(got.number(element));
        back.push_back(got.number(kReversed + element));
    }
    CHECK(there == std::vector<std::uint64_t>{40, 70'000, 63, 64, 0x40, 1, 2, 3, 4, 5, 6});
    CHECK(back == std::vector<std::uint64_t>{52, 1500, 118, 119, 0x20, 11, 12, 13, 14, 15, 16});
}

TEST_CASE("Biflow records: the flow label of each direction, of IPv6 alone", "[export][unit]") {
    EncoderPair pair = biflow_pair(groups_of<FlowLabelGroup>());
    Record record = answered(pair.layout, 6);
    record.group<FlowLabelGroup>(pair.layout.at<FlowLabelGroup>()).flow_label = 0xABCDE;
    record.group<FlowLabelGroup>(pair.layout.back_at<FlowLabelGroup>()).flow_label = 0x12345;
    const DecodedRecord got = pair.round_trip(record);
    CHECK(got.number(31) == 0xABCDE);
    CHECK(got.number(kReversed + 31) == 0x12345);
    CHECK(beside_default(pair.round_trip(answered(pair.layout))).empty());
}

TEST_CASE("Biflow records: MAC addresses, tags and labels that one direction has, both have",
          "[export][unit]") {
    EncoderPair pair = biflow_pair(groups_of<Layer2Group, MplsGroup>());
    const RecordLayout& at = pair.layout;
    Record record = answered(at);
    record.group<Layer2Group>(at.at<Layer2Group>()).layer2_octets = 1140;
    record.group<Layer2Group>(at.back_at<Layer2Group>()).layer2_octets = 77;
    DecodedRecord got = pair.round_trip(record);
    CHECK(beside_default(got) == Elements{352, kReversed + 352});
    CHECK(got.number(352) == 1140);
    CHECK(got.number(kReversed + 352) == 77);

    const bool there = GENERATE(true, false);  // the one that has them
    auto& layer2 =
        record.group<Layer2Group>(there ? at.at<Layer2Group>() : at.back_at<Layer2Group>());
    layer2.source_mac.fill(std::byte{0x50});
    layer2.destination_mac.fill(std::byte{0xD0});
    layer2.has_mac_addresses = true;
    layer2.dot1q_vlan = {100};
    layer2.dot1q_customer_vlan = {200};
    layer2.vlan_tags = 2;
    auto& mpls = record.group<MplsGroup>(there ? at.at<MplsGroup>() : at.back_at<MplsGroup>());
    mpls.sections[0] = {std::byte{0x00}, std::byte{0x06}, std::byte{0x41}};
    mpls.labels = 1;
    got = pair.round_trip(record);
    Elements expected{56, 80, 352, 243, 245, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79};
    expected.merge(reversed(expected));
    CHECK(beside_default(got) == expected);
    const std::uint32_t has = there ? 0 : kReversed;
    const std::uint32_t lacks = there ? kReversed : 0;
    CHECK(got.values.at(has + 56) == octets({0x50, 0x50, 0x50, 0x50, 0x50, 0x50}));
    CHECK(got.values.at(has + 80) == octets({0xD0, 0xD0, 0xD0, 0xD0, 0xD0, 0xD0}));
    CHECK(got.number(has + 243) == 100);
    CHECK(got.number(has + 245) == 200);
    CHECK(got.values.at(has + 70) == octets({0x00, 0x06, 0x41}));
    for (const std::uint32_t element : {56U, 80U, 243U, 245U, 70U}) {
        CHECK(got.number(lacks + element) == 0);
    }

    // The reverse direction's groups mean nothing before its first packet.
    record.group<ReverseGroup>(at.reverse_at).packets = 0;
    CHECK(pair.round_trip(record).has(243) == there);
}

TEST_CASE("Biflow records: each direction has the tunnel that is around it", "[export][unit]") {
    ExportOptions options;
    options.fields = groups_of<TunnelGroup>();
    options.enterprise_number = 4711;
    EncoderPair pair(options, 1400, FlowDirection::biflow);
    Record record = answered(pair.layout);
    auto& there = record.group<TunnelGroup>(pair.layout.at<TunnelGroup>());
    auto& back = record.group<TunnelGroup>(pair.layout.back_at<TunnelGroup>());
    there = {.id = 0x01020304, .kind = TunnelKind::gtp_u, .ip_version = 4};
    there.source[0] = std::byte{203};
    there.destination[0] = std::byte{204};
    back = {.id = 0xABCDEF, .kind = TunnelKind::vxlan, .ip_version = 6};
    back.source.fill(std::byte{0x20});
    back.destination.fill(std::byte{0x30});
    DecodedRecord got = pair.round_trip(record);
    CHECK(beside_default(got) == Elements{kOfEnterprise + 1, kOfEnterprise + 2, kOfEnterprise + 3,
                                          kOfEnterprise + 4, kOwnReversed + 1, kOwnReversed + 2,
                                          kOwnReversed + 5, kOwnReversed + 6, kReversed + 351});
    CHECK(got.values.at(kOfEnterprise + 1) == octets({6}));
    CHECK(got.values.at(kOfEnterprise + 2) == octets({1, 2, 3, 4}));
    CHECK(got.values.at(kOfEnterprise + 3) == octets({203, 0, 0, 0}));
    CHECK(got.values.at(kOfEnterprise + 4) == octets({204, 0, 0, 0}));
    CHECK(got.values.at(kOwnReversed + 1) == octets({4}));
    CHECK(got.number(kOwnReversed + 2) == 0xABCDEF);
    CHECK(got.values.at(kOwnReversed + 5) == Octets(16, std::byte{0x20}));
    CHECK(got.values.at(kOwnReversed + 6) == Octets(16, std::byte{0x30}));
    CHECK(got.values.at(kReversed + 351) == octets({1, 0, 0, 0, 0, 0xAB, 0xCD, 0xEF}));
    std::size_t reverse = 0;
    for (const DecodedField& field : pair.decoder.templates().at(got.template_id)) {
        const bool is_own = (field.element & kOfEnterprise) != 0 && field.key() < kReversed;
        CHECK(field.enterprise == (is_own ? 4711 : field.key() < kReversed ? 0 : 29305));
        reverse += field.enterprise == 29305 ? 1 : 0;
    }
    CHECK(reverse == 7);

    there = {};  // a tunnel for one direction alone
    back = {.id = 9, .kind = TunnelKind::gre, .ip_version = 4};
    back.source[0] = std::byte{205};
    got = pair.round_trip(record);
    CHECK(beside_default(got) ==
          Elements{kOwnReversed + 1, kOwnReversed + 2, kOwnReversed + 3, kOwnReversed + 4});
    CHECK(got.values.at(kOwnReversed + 3) == octets({205, 0, 0, 0}));
}

TEST_CASE("Biflow records: with all groups, every shape has its template and its elements",
          "[export][unit]") {
    EncoderPair pair = biflow_pair(kAllGroups);
    std::size_t index = GENERATE(0U, 1U, 2U, 3U, 4U, 5U, 6U);  // in parts, to see where it fails
    for (; index < shape_count(pair.layout); index += 7) {
        CAPTURE(index);
        const RecordShape shape = shape_at(index, pair.layout);
        const auto number = static_cast<std::uint16_t>(index);
        const DecodedRecord got = pair.round_trip(record_of_shape(shape, pair.layout, number));
        CHECK(got.template_id == 256 + index);
        CHECK(got.number(7) == index);
        // The reverse has the elements of the first direction, less those that both share, and its
        // own tunnel.
        Elements back;
        Elements there;
        for (const std::uint32_t element : elements_of(got)) {
            if (element >= kReversed) {
                back.insert(element - kReversed);
            } else if (element < kOfEnterprise && element != 351) {
                there.insert(element);
            }
        }
        for (const std::uint32_t common :
             {4U, 7U, 8U, 10U, 11U, 12U, 27U, 28U, 32U, 58U, 60U, 136U, 139U, 239U}) {
            there.erase(common);
        }
        CHECK(back.erase(351) == (is_vxlan(shape.reverse_variant<TunnelGroup>())));
        CHECK(back == (shape.has_reverse ? there : Elements{}));
        CHECK(got.has(kOwnReversed + 1) ==
              (shape.reverse_variant<TunnelGroup>() != TunnelGroup::no_tunnel));
    }
    for (const DecodedMessage& message : pair.templates) {
        CHECK(message.octets <= 1400);
    }
}

TEST_CASE("Biflow records: a message that is too short for the largest template is refused",
          "[export][unit]") {
    CHECK_THROWS_AS(
        EncoderPair(kAllGroups, TimestampUnit::milliseconds, 512, FlowDirection::biflow),
        ExportError);
    // The least that the configuration lets through.
    CHECK_NOTHROW(EncoderPair(kAllGroups, TimestampUnit::milliseconds, 576, FlowDirection::biflow));
    CHECK_NOTHROW(EncoderPair({}, TimestampUnit::milliseconds, 512, FlowDirection::biflow));
    ExportOptions with_cert;
    with_cert.fields = kAllGroups;
    with_cert.cert_elements = true;
    CHECK_NOTHROW(EncoderPair(with_cert, 576, FlowDirection::biflow));
}

TEST_CASE("Biflow records: all groups and analysed TCP fit into one record", "[export][unit]") {
    ExportOptions options;
    options.fields = kAllGroups;
    options.fields.set(kFieldGroupId<TcpAnalysisGroup>);
    options.ntop_elements = true;
    options.timestamps = TimestampUnit::nanoseconds;
    // As docs/fields.md says; 832 is the least that the configuration lets through.
    CHECK_THROWS_AS(EncoderPair(options, 787, FlowDirection::biflow), ExportError);
    CHECK_NOTHROW(EncoderPair(options, 788, FlowDirection::biflow));
    ExportOptions with_cert = options;
    with_cert.cert_elements = true;
    CHECK_NOTHROW(EncoderPair(with_cert, 832, FlowDirection::biflow));
    EncoderPair pair(options, 832, FlowDirection::biflow);
    RecordShape largest = shape_at(shape_count(pair.layout) - 1, pair.layout);
    largest.icmp = false;
    largest.variants.at(kFieldGroupId<Layer2Group>) = 2;  // two tags, and addresses
    Record record = record_of_shape(largest, pair.layout, 7);
    record.core.key.protocol = 6;
    auto& there = record.group<TcpAnalysisGroup>(pair.layout.at<TcpAnalysisGroup>());
    there.flow_size = 2;
    there.duration = 1;
    record.group<TcpAnalysisGroup>(pair.layout.back_at<TcpAnalysisGroup>()) =
        TcpAnalysisGroup{.segments = 3};
    const DecodedRecord got = pair.round_trip(record);
    CHECK(got.number(kOfEnterprise + 15) == 2);
    CHECK(got.number(kOwnReversed + 7) == 3);
    CHECK(got.number(kOwnReversed + 15) == TcpAnalysisGroup::kNoSize);
    CHECK(pair.decoder.templates().at(got.template_id).size() == 118);
}

TEST_CASE("Biflow records: the export time is not before the end of either direction",
          "[export][unit]") {
    EncoderPair pair = biflow_pair();
    Record record = answered(pair.layout);
    const auto export_time = [&pair, &record] {
        pair.numbering = {};
        REQUIRE(pair.encoder.append(bytes_of(record)) == AppendResult::added);
        const Octets message = pair.finish_unheard(kNow - std::chrono::hours{1});
        const auto seconds = std::span(message).subspan(4, 4);
        std::uint64_t time = 0;
        for (const std::byte octet : seconds) {
            time = time << 8U | std::to_integer<std::uint64_t>(octet);
        }
        return time;
    };
    auto& reverse = record.group<ReverseGroup>(pair.layout.reverse_at);
    reverse.packets = 0;  // its times mean nothing
    CHECK(export_time() == 1'600'000'001);
    reverse.packets = 3;
    CHECK(export_time() == 1'600'000'003);
}
