// SPDX-License-Identifier: Apache-2.0
#include "export/messages/flow_message_encoder.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "export/export_error.hpp"
#include "export/messages/flow_message_fields.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/encoder_pair.hpp"
#include "tests/support/octets.hpp"
#include "tests/support/protobuf_fields.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr std::byte kUntouched{0xEE};
const StreamIdentity kProbeIdentity{.probe_name = "p1",
                                    .probe_address = "192.0.2.1",
                                    .observation_domain = 42,
                                    .stream = 0x0807060504030201};

/// An encoder of records of one layout.
struct Encoded {
    explicit Encoded(const RecordLayout& layout = {}, const MeteringProcess& metering = {},
                     const ExportOptions& options = {}, const StreamIdentity& of = kProbeIdentity)
        : encoder(of, options, metering, std::array{layout}) {}

    Octets octets(const Record& record, std::uint64_t sequence = 300) {
        constexpr std::size_t kBehind = 64;
        Octets room(encoder.most_octets() + kBehind, kUntouched);
        const std::size_t size = encoder.encode(0, bytes_of(record), sequence,
                                                std::span(room).first(encoder.most_octets()));
        REQUIRE(size <= encoder.most_octets());
        for (std::size_t at = encoder.most_octets(); at < room.size(); ++at) {
            REQUIRE(room[at] == kUntouched);
        }
        room.resize(size);
        return room;
    }
    ProtobufFields fields(const Record& record, std::uint64_t sequence = 300) {
        return protobuf_fields(octets(record, sequence));
    }

    FlowMessageEncoder encoder;
};

MeteringProcess sampled(std::initializer_list<std::uint32_t> rates) {
    MeteringProcess metering;
    std::uint32_t index = 7;
    for (const std::uint32_t rate : rates) {
        metering.interfaces.push_back(
            {.index = index++, .name = {}, .description = {}, .sampling = {.one_in = rate}});
    }
    return metering;
}

}  // namespace

TEST_CASE("FlowMessage: the octets of a plain record", "[export][unit]") {
    const Octets expected = octets({
        0x08, 0x04,                                               // type 1: IPFIX
        0x5A, 0x04, 192,  0,    2,    1,                          // sampler_address 11
        0xB0, 0x04, 42,                                           // observation_domain_id 70
        0xC2, 0x25, 2,    'p',  '1',                              // probe_name 600
        0xC9, 0x25, 1,    2,    3,    4,    5,    6,    7,    8,  // stream 601
        0x18, 0x01,                                               // sampling_rate 3
        0x20, 0xAC, 0x02,                                         // sequence_num 4: 300
        0xF0, 0x06,                                               // time_received_ns 110
        0x80, 0xAF, 0xD0, 0xAA, 0xE0, 0xF0, 0x95, 0x9A, 0x16, 0xD0, 0x25,
        0xAC, 0x02,                                                        // stream_sequence 602
        0x32, 0x04, 192,  0,    0,    1,                                   // src_addr 6
        0x3A, 0x04, 198,  0,    0,    2,                                   // dst_addr 7
        0xA8, 0x01, 1,                                                     // src_port 21
        0xB0, 0x01, 53,                                                    // dst_port 22
        0xA0, 0x01, 17,                                                    // proto 20
        0xF0, 0x01, 0x80, 0x10,                                            // etype 30: 0x0800
        0x90, 0x01, 7,                                                     // in_if 18
        0x48, 0xE8, 0x07,                                                  // bytes 9: 1000
        0x50, 10,                                                          // packets 10
        0xF8, 0x06,                                                        // time_flow_start_ns 111
        0x80, 0xE5, 0x9A, 0xBC, 0xDE, 0xF0, 0x95, 0x9A, 0x16, 0x80, 0x07,  // time_flow_end_ns 112
        0x80, 0xAF, 0xD0, 0xAA, 0xE0, 0xF0, 0x95, 0x9A, 0x16, 0xD8, 0x25,
        1,  // flow_end_reason 603: idle timeout
    });
    CHECK(Encoded().octets(record_of(1)) == expected);
}

TEST_CASE("FlowMessage: IPv6, addresses of 16 octets, tags, MAC addresses, ICMP, flow label",
          "[export][unit]") {
    const RecordLayout layout =
        RecordLayout::of(groups_of<Layer2Group, FlowLabelGroup, FragmentsGroup>());
    StreamIdentity other = kProbeIdentity;
    other.probe_address = "2001:db8::1";
    Encoded encoded(layout, {}, {}, other);
    Record record = record_of(1, 6);
    record.core.key.protocol = 58;
    record.core.key.destination_port = {129 * 256 + 3};
    record.core.key.vlan = {100};
    record.core.ip_class_of_service = 0xB8;
    auto& layer2 = record.group<Layer2Group>(layout.at<Layer2Group>());
    layer2.vlan_tags = 2;
    layer2.has_mac_addresses = true;
    layer2.source_mac = {std::byte{2}, {}, {}, {}, {}, std::byte{1}};
    layer2.destination_mac.fill(std::byte{0xFF});
    layer2.layer2_octets = 1140;
    record.group<FlowLabelGroup>(layout.at<FlowLabelGroup>()) = {.flow_label = 0xFFFFF};
    record.group<FragmentsGroup>(layout.at<FragmentsGroup>()) = {.fragment_flags = 0x60};
    const ProtobufFields got = encoded.fields(record);
    CHECK(test::octets_of(got, 6).size() == 16);
    CHECK(test::octets_of(got, 7).size() == 16);
    CHECK(test::octets_of(got, 6).front() == std::byte{192});
    CHECK(test::octets_of(got, 11) ==
          octets({0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
    CHECK(number_of(got, 30) == 0x86DD);
    CHECK(number_of(got, 20) == 58);
    CHECK(number_of(got, 22) == 129 * 256 + 3);
    CHECK(number_of(got, 31) == 129);
    CHECK(number_of(got, 32) == 3);
    CHECK(number_of(got, 29) == 100);
    CHECK(number_of(got, 33) == 100);
    CHECK(number_of(got, 23) == 0xB8);
    CHECK(number_of(got, 27) == 0x020000000001);
    CHECK(number_of(got, 28) == 0xFFFFFFFFFFFF);
    CHECK(number_of(got, 37) == 0xFFFFF);
    CHECK(number_of(got, 38) == 3);
    CHECK(number_of(got, 608) == 1140);
    CHECK(got.contains(609));  // a priority tag: 0 is a value
    CHECK(number_of(got, 609) == 0);
    CHECK(encoded.encoder.not_carried().empty());
}

TEST_CASE("FlowMessage: goflow2 has three labels, our sections end with the stack",
          "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(groups_of<MplsGroup>());
    Encoded encoded(layout);
    Record record = record_of(1);
    auto& mpls = record.group<MplsGroup>(layout.at<MplsGroup>());
    const auto set = [&mpls](std::size_t place, std::uint32_t section) {
        mpls.sections[place] = {static_cast<std::byte>(section >> 16U),
                                static_cast<std::byte>(section >> 8U),
                                static_cast<std::byte>(section)};
    };
    mpls.labels = 1;
    set(0, 16 << 4U | 1U);
    ProtobufFields got = encoded.fields(record);
    CHECK(packed_of(got, 81) == Numbers{16, 0, 0});
    CHECK(packed_of(got, 617) == Numbers{257});
    mpls.labels = 4;
    set(0, 0xFFFFF0);
    set(1, 0);  // explicit null, with more below
    set(2, 0x00020E);
    set(3, 0x000031);
    got = encoded.fields(record);
    CHECK(packed_of(got, 81) == Numbers{0xFFFFF, 0, 0x20});
    CHECK(packed_of(got, 617) == Numbers{0xFFFFF0, 0, 0x20E, 0x31});
    mpls.labels = 0;
    got = encoded.fields(record);
    CHECK_FALSE(got.contains(81));
    CHECK_FALSE(got.contains(617));
}

TEST_CASE("FlowMessage: of chosen sections of a label stack the others are 0", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(groups_of<MplsGroup>());
    ExportOptions options;
    options.partial.add(kFieldGroupId<MplsGroup>, 1);
    options.partial.add(kFieldGroupId<MplsGroup>, 4);
    Encoded encoded(layout, {}, options);
    Record record = record_of(1);
    auto& mpls = record.group<MplsGroup>(layout.at<MplsGroup>());
    mpls.labels = 5;
    for (auto& section : mpls.sections) {
        section = {std::byte{0}, std::byte{2}, std::byte{1}};
    }
    const ProtobufFields got = encoded.fields(record);
    CHECK(packed_of(got, 81) == Numbers{0, 0x20});
    CHECK(packed_of(got, 617) == Numbers{0, 0x201, 0, 0, 0x201});
}

TEST_CASE("FlowMessage: TCP analysis and a tunnel are in fields of ours", "[export][unit]") {
    const RecordLayout layout =
        RecordLayout::of(groups_of<TcpAnalysisGroup, TunnelGroup, ExtremesGroup>());
    Encoded encoded(layout);
    Record record = record_of(1);
    record.core.key.protocol = 6;
    record.core.tcp_control_bits = 0x11B;
    record.group<ExtremesGroup>(layout.at<ExtremesGroup>()) = {.minimum_ip_total_length = 40,
                                                               .maximum_ip_total_length = 70'000,
                                                               .minimum_ttl = 63,
                                                               .maximum_ttl = 64};
    record.group<TcpAnalysisGroup>(layout.at<TcpAnalysisGroup>()) = {
        .retransmitted_octets = 1ULL << 40U, .segments = 10, .window = 65535};
    auto& tunnel = record.group<TunnelGroup>(layout.at<TunnelGroup>());
    tunnel = {.id = 0x123456, .kind = TunnelKind::vxlan, .ip_version = 6};
    tunnel.source[15] = std::byte{9};
    const ProtobufFields got = encoded.fields(record);
    CHECK(number_of(got, 26) == 0x11B);
    CHECK(number_of(got, 25) == 63);
    CHECK(number_of(got, 605) == 40);
    CHECK(number_of(got, 606) == 70'000);
    CHECK(number_of(got, 607) == 64);
    CHECK(number_of(got, 647) == 10);
    CHECK(number_of(got, 650) == 1ULL << 40U);
    CHECK(number_of(got, 620) == 65535);
    CHECK(got.contains(649));  // analysed, and none was seen
    CHECK_FALSE(got.contains(655));
    CHECK(number_of(got, 641) == 4);
    CHECK(number_of(got, 642) == 0x123456);
    CHECK(test::octets_of(got, 643).size() == 16);
    CHECK(test::octets_of(got, 643).back() == std::byte{9});
    CHECK(number_of(got, 618) == (1ULL << 56U | 0x123456));
    CHECK(encoded.encoder.not_carried().empty());
}

TEST_CASE("FlowMessage: sampling_rate is 1, the rate, or not there where it is unknown",
          "[export][unit]") {
    Record record = record_of(1);  // interface 7
    CHECK(number_of(Encoded().fields(record), 3) == 1);
    CHECK(number_of(Encoded({}, sampled({1, 1})).fields(record), 3) == 1);
    CHECK(number_of(Encoded({}, sampled({100, 100})).fields(record), 3) == 100);
    Encoded differ({}, sampled({100, 1, 50}));
    CHECK(number_of(differ.fields(record), 3) == 100);
    record.core.key.ingress_interface = {8};
    CHECK(number_of(differ.fields(record), 3) == 1);
    record.core.key.ingress_interface = {9};
    CHECK(number_of(differ.fields(record), 3) == 50);
    record.core.key.ingress_interface = {0};  // the table's key has no interface
    CHECK_FALSE(differ.fields(record).contains(3));
    record.core.key.ingress_interface = {10};
    CHECK_FALSE(differ.fields(record).contains(3));
}

TEST_CASE("FlowMessage: numbers beyond 32 bits are whole in the field of ours", "[export][unit]") {
    const ProtobufFields got = Encoded().fields(record_of(1), 0x1'0000'0002);
    CHECK(number_of(got, 4) == 2);
    CHECK(number_of(got, 602) == 0x1'0000'0002);
    const ProtobufFields first = Encoded().fields(record_of(1), 0);
    CHECK_FALSE(first.contains(4));
    CHECK(first.contains(602));
}

TEST_CASE("FlowMessage: the stream and the number of a message are read again", "[export][unit]") {
    Encoded encoded;
    CHECK(encoded.encoder.stream() == kProbeIdentity.stream);
    for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{300}, ~std::uint64_t{0}}) {
        const Octets message = encoded.octets(record_of(1), sequence);
        CHECK(encoded.encoder.number_of(message) == RecordNumber{kProbeIdentity.stream, sequence});
        // The number is not in the first octets.
        CHECK_FALSE(encoded.encoder.number_of(std::span(message).first(8)));
    }
    CHECK_FALSE(encoded.encoder.number_of({}));
    const Octets broken(20, std::byte{0xFF});
    CHECK_FALSE(encoded.encoder.number_of(broken));
}

TEST_CASE("FlowMessage: no record is received before its end", "[export][unit]") {
    Encoded encoded;
    const Record record = record_of(1);
    const auto end = static_cast<std::uint64_t>(record.core.end.time_since_epoch().count());
    encoded.encoder.set_time(record.core.start);
    CHECK(number_of(encoded.fields(record), 110) == end);
    encoded.encoder.set_time(record.core.end + std::chrono::nanoseconds{5});
    CHECK(number_of(encoded.fields(record), 110) == end + 5);
}

TEST_CASE("FlowMessage: without name and address there is no field of them", "[export][unit]") {
    Encoded encoded({}, {}, {}, StreamIdentity{});
    const ProtobufFields got = encoded.fields(record_of(1));
    CHECK_FALSE(got.contains(11));
    CHECK_FALSE(got.contains(600));
    CHECK_FALSE(got.contains(70));
    CHECK(got.contains(601));
}

TEST_CASE("FlowMessage: a key without addresses and ports leaves them out", "[export][unit]") {
    MeteringProcess metering;
    metering.key = {.source = {0, 0}, .source_port = false, .destination_port = false};
    const ProtobufFields got = Encoded({}, metering).fields(record_of(1));
    CHECK_FALSE(got.contains(6));
    CHECK_FALSE(got.contains(21));
    CHECK_FALSE(got.contains(22));
    CHECK(got.contains(7));
}

TEST_CASE("FlowMessage: biflows, and a probe that cannot be told, are refused", "[export][unit]") {
    const RecordLayout biflows = RecordLayout::of({}, FlowDirection::biflow);
    CHECK_THROWS_AS(Encoded(biflows), ExportError);
    StreamIdentity wrong = kProbeIdentity;
    wrong.probe_address = "probe.example.org";
    CHECK_THROWS_AS(Encoded({}, {}, {}, wrong), ExportError);
    wrong = kProbeIdentity;
    wrong.probe_name = std::string(256, 'x');
    CHECK_THROWS_AS(Encoded({}, {}, {}, wrong), ExportError);
    for (const char* const name :
         {"\xFF", "a\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80"}) {
        wrong.probe_name = name;
        CHECK_THROWS_AS(Encoded({}, {}, {}, wrong), ExportError);
    }
    StreamIdentity good = kProbeIdentity;
    good.probe_name = "K\xC3\xB6ln \xE2\x82\xAC \xF0\x9F\x98\x80";
    CHECK(test::octets_of(Encoded({}, {}, {}, good).fields(record_of(1)), 600).size() == 14);
    good.probe_name = std::string(255, 'x');
    CHECK(test::octets_of(Encoded({}, {}, {}, good).fields(record_of(1)), 600).size() == 255);
}

TEST_CASE("FlowMessage: every element of every group has a field", "[export][unit]") {
    for (FieldGroupId id = 0; id < kStandardFieldGroups; ++id) {
        for (const FieldElement& element : field_group(id).elements) {
            INFO(element.name);
            const bool is_of_uniflows = element.condition != Condition::biflow;
            const bool is_carried = element.owner != ElementOwner::ntop && is_of_uniflows;
            CHECK((find_flow_message_field(element.name) != nullptr) == is_carried);
        }
    }
}

TEST_CASE("FlowMessage: each record of each shape, with any octets in it, is a message in its room",
          "[export][unit]") {
    constexpr std::size_t kMostPerField = 1;
    const auto groups = GENERATE(FieldGroups{}, kAllGroups, kEveryGroup);
    const RecordLayout layout = RecordLayout::of(groups);
    Encoded encoded(layout, sampled({4'000'000'000, 1}));
    const RecordShapes shapes(layout);
    std::set<std::size_t> seen;
    std::size_t possible = 0;
    for (std::size_t shape = 0; shape < shapes.count(); ++shape) {
        // No packet is of ICMP and of TCP.
        possible += static_cast<std::size_t>(!shapes.at(shape).icmp ||
                                             shapes.at(shape).variant<TcpAnalysisGroup>() ==
                                                 TcpAnalysisGroup::not_tcp);
        for (const int fill : {0x00, 0x7F, 0x80, 0xFF}) {
            // What decides the shape is that of record_of_shape(), and the counts are extreme.
            Record record = record_of_shape(shapes.at(shape), layout, 0xFFFF);
            record.core.packets = fill == 0 ? 0 : ~std::uint64_t{0};
            record.core.octets = record.core.packets;
            record.core.tcp_control_bits = static_cast<std::uint16_t>(fill << 8U | fill);
            record.core.ip_class_of_service = static_cast<std::uint8_t>(fill);
            record.core.key.source.fill(static_cast<std::byte>(fill));
            if (layout.at<MplsGroup>() != 0) {
                for (auto& section : record.group<MplsGroup>(layout.at<MplsGroup>()).sections) {
                    section.fill(static_cast<std::byte>(fill));
                }
            }
            const std::size_t index = shapes.index_of(bytes_of(record));
            seen.insert(index);
            for (const auto& [field, values] : encoded.fields(record, ~std::uint64_t{0})) {
                CHECK(values.size() == kMostPerField);
            }
        }
    }
    CHECK(seen.size() == possible);
    // Whatever a damaged record has, it has some shape.
    Record record{};
    for (const int fill : {0x55, 0xAA, 0xFF}) {
        std::memset(reinterpret_cast<std::byte*>(&record), fill, sizeof record);
        if (layout.at<Layer2Group>() != 0) {  // a bool has one of two values
            record.group<Layer2Group>(layout.at<Layer2Group>()).has_mac_addresses = true;
        }
        CHECK_FALSE(encoded.fields(record, ~std::uint64_t{0}).empty());
    }
}

TEST_CASE("FlowMessage: encoding allocates nothing", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(kEveryGroup);
    Encoded encoded(layout, sampled({2, 3}));
    const Record record = record_of(1);
    Octets room(encoded.encoder.most_octets());
    const std::size_t before = allocations();
    const std::size_t size = encoded.encoder.encode(0, bytes_of(record), 1, room);
    CHECK(allocations() == before);
    CHECK(size > 0);
}
