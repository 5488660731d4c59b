// SPDX-License-Identifier: Apache-2.0
#include "export/messages/json_encoder.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "export/ipfix/encoder_options.hpp"
#include "export/messages/stream_identity.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/export_harness.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

const StreamIdentity kIdentity{.probe_name = "west \"1\"",
                               .probe_address = "192.0.2.9",
                               .observation_domain = 42,
                               .stream = 0x0123'4567'89AB'CDEF};
const std::string kIdentityMembers =
    R"("iana:exporterIPv4Address":"192.0.2.9","iana:observationDomainId":42,)"
    R"("tributary:probeName":"west \"1\"","tributary:streamId":"0123456789abcdef",)"
    R"("tributary:sequenceNumber":)";

/// The line of one record.
std::string line_of(JsonEncoder& encoder, const std::byte* record, std::uint64_t sequence = 0,
                    std::size_t layout = 0) {
    std::vector<std::byte> room(encoder.most_octets());
    const std::size_t octets = encoder.encode(layout, record, sequence, room);
    REQUIRE(octets <= room.size());
    return {reinterpret_cast<const char*>(room.data()), octets};
}

ExportOptions own_options(const ExportOptions& options, const MeteringProcess& metering,
                          const CollectorOptions& collector = {}) {
    return encoder_options(options, collector, metering);
}

}  // namespace

TEST_CASE("JsonEncoder: a UDP flow over IPv4, each member and its value", "[export][unit]") {
    const MeteringProcess metering{};
    JsonEncoder encoder(own_options({}, metering), metering, kIdentity);
    Record record = record_of(4711);
    record.core.ip_class_of_service = 0xB8;
    CHECK(line_of(encoder, bytes_of(record), 17) ==
          R"({"@type":"ipfix.entry","iana:sourceIPv4Address":"192.0.0.1",)"
          R"("iana:destinationIPv4Address":"198.0.0.2","iana:sourceTransportPort":4711,)"
          R"("iana:destinationTransportPort":53,"iana:protocolIdentifier":"UDP",)"
          R"("iana:ipVersion":4,"iana:ipClassOfService":184,"iana:tcpControlBits":"......",)"
          R"("iana:ingressInterface":7,"iana:octetDeltaCount":1000,"iana:packetDeltaCount":10,)"
          R"("iana:flowStartMilliseconds":"2020-09-13T12:26:40.250Z",)"
          R"("iana:flowEndMilliseconds":"2020-09-13T12:26:40.750Z","iana:flowEndReason":1,)" +
              kIdentityMembers + "17}");
}

TEST_CASE("JsonEncoder: a biflow over IPv6 with groups, its reverse members", "[export][unit]") {
    const FieldGroups groups = groups_of<Layer2Group, MplsGroup, TunnelGroup>();
    const MeteringProcess metering{.layout = RecordLayout::of(groups, FlowDirection::biflow)};
    ExportOptions options;
    options.timestamps = TimestampUnit::nanoseconds;
    options.fields = groups;
    StreamIdentity identity = kIdentity;
    identity.probe_address = "2001:db8::9";
    JsonEncoder encoder(own_options(options, metering), metering, identity);
    Record record = record_of(1, 6);
    record.core.key.protocol = 6;
    record.core.tcp_control_bits = 0x1B;
    auto& reverse = record.group<ReverseGroup>(metering.layout.reverse_at);
    reverse.packets = 3;
    reverse.octets = 300;
    reverse.tcp_control_bits = 0x12;
    reverse.start = record.core.start;
    reverse.end = record.core.end;
    auto& layer2 = record.group<Layer2Group>(metering.layout.at<Layer2Group>());
    layer2.has_mac_addresses = true;
    layer2.source_mac = {std::byte{0x0A}, std::byte{1}, std::byte{2},
                         std::byte{3},    std::byte{4}, std::byte{5}};
    auto& tunnel = record.group<TunnelGroup>(metering.layout.at<TunnelGroup>());
    tunnel.kind = TunnelKind::vxlan;
    tunnel.id = 77;
    tunnel.ip_version = 4;
    auto& back = record.group<TunnelGroup>(metering.layout.back_at<TunnelGroup>());
    back = tunnel;
    const std::string line = line_of(encoder, bytes_of(record));
    const auto has = [&line](const std::string& member) {
        INFO(line);
        CHECK(line.find(member) != std::string::npos);
    };
    has(R"("iana:sourceIPv6Address":"c000:1::",)");
    has(R"("iana:protocolIdentifier":"TCP",)");
    has(R"("iana:tcpControlBits":".AP.SF",)");
    has(R"("iana@reverse:tcpControlBits@reverse":".A..S.",)");
    has(R"("iana@reverse:octetDeltaCount@reverse":300,)");
    has(R"("iana@reverse:packetDeltaCount@reverse":3,)");
    has(R"("iana@reverse:flowEndNanoseconds@reverse":"2020-09-13T12:26:40.750Z",)");
    has(R"("iana:sourceMacAddress":"0A:01:02:03:04:05",)");
    has(R"("tributary:tunnelId":77,)");
    has(R"("iana:exporterIPv6Address":"2001:db8::9",)");
    has(R"("tributary:sequenceNumber":0})");
}

TEST_CASE("JsonEncoder: elements of ntop, CERT and tributary by their own scopes",
          "[export][unit]") {
    const FieldGroups groups = groups_of<TcpAnalysisGroup>();
    const MeteringProcess metering{.layout = RecordLayout::of(groups, FlowDirection::biflow)};
    ExportOptions options;
    options.fields = groups;
    options.ntop_elements = true;
    CollectorOptions collector;
    collector.cert_elements = true;
    JsonEncoder encoder(own_options(options, metering, collector), metering,
                        StreamIdentity{.probe_name = "p", .probe_address = {}});
    Record record = record_of(1);
    record.core.key.protocol = 6;
    record.group<ReverseGroup>(metering.layout.reverse_at).packets = 1;
    const std::string line = line_of(encoder, bytes_of(record));
    INFO(line);
    CHECK(line.find(R"("cert:unionTCPFlags":0,)") != std::string::npos);
    CHECK(line.find(R"("cert:unionTCPFlags@reverse":0,)") != std::string::npos);
    CHECK(line.find(R"("tributary:)") < line.find(R"("tributary:probeName":"p")"));
    CHECK(line.find("exporter") == std::string::npos);
}

TEST_CASE("JsonEncoder: records of every group, within most_octets()", "[export][unit]") {
    const MeteringProcess metering{.layout = RecordLayout::of(kEveryGroup)};
    ExportOptions options;
    options.fields = kEveryGroup;
    JsonEncoder encoder(own_options(options, metering), metering, kIdentity);
    for (int protocol = 0; protocol < 256; ++protocol) {
        Record record = record_of(1, protocol % 2 == 0 ? 4 : 6);
        record.core.key.protocol = static_cast<std::uint8_t>(protocol);
        record.core.key.vlan = {static_cast<std::uint16_t>(protocol % 3)};
        record.group<MplsGroup>(metering.layout.at<MplsGroup>()).labels =
            static_cast<std::uint8_t>(protocol % 4);
        const std::string line = line_of(encoder, bytes_of(record));
        CHECK(line.starts_with(R"({"@type":"ipfix.entry","iana:sourceIPv)"));
        CHECK(line.ends_with(R"("tributary:sequenceNumber":0})"));
    }
}

TEST_CASE("JsonEncoder: a record takes no memory", "[export][unit]") {
    const MeteringProcess metering{};
    JsonEncoder encoder(own_options({}, metering), metering, kIdentity);
    const Record record = record_of(1);
    std::vector<std::byte> room(encoder.most_octets());
    const std::size_t before = allocations();
    for (std::uint64_t sequence = 0; sequence < 100; ++sequence) {
        static_cast<void>(encoder.encode(0, bytes_of(record), sequence, room));
    }
    CHECK(allocations() == before);
}

TEST_CASE("new_stream: names the host unless there is a name, and differs each time",
          "[export][unit]") {
    ExportOptions options;
    options.observation_domain = 5;
    CollectorOptions collector;
    const StreamIdentity first = new_stream(options, {});
    CHECK_FALSE(first.probe_name.empty());
    CHECK(first.observation_domain == 5);
    CHECK(first.stream != new_stream(options, {}).stream);
    collector.observation_domain = 6;
    options.probe = {.name = "north", .address = "192.0.2.1"};
    const StreamIdentity named = new_stream(options, collector);
    CHECK(named.probe_name == "north");
    CHECK(named.probe_address == "192.0.2.1");
    CHECK(named.observation_domain == 6);
}

TEST_CASE("JsonEncoder: the number of a line that it has made, of this stream or another",
          "[export][unit]") {
    const MeteringProcess metering{};
    JsonEncoder encoder(own_options({}, metering), metering, kIdentity);
    const auto number_of = [&](const std::string& line) {
        return encoder.number_of(std::as_bytes(std::span(line)));
    };
    CHECK(encoder.stream() == kIdentity.stream);
    const std::uint64_t most = ~std::uint64_t{0};
    for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{17}, most}) {
        const std::string line = line_of(encoder, bytes_of(record_of(1)), sequence);
        CHECK(number_of(line) == RecordNumber{kIdentity.stream, sequence});
        CHECK_FALSE(number_of(line.substr(0, line.size() - 1)));
    }
    const std::string of_another =
        R"({"a":1,"tributary:streamId":"00000000000000ff","tributary:sequenceNumber":5})";
    CHECK(number_of(of_another) == RecordNumber{0xFF, 5});
    CHECK_FALSE(number_of(R"({"a":1,"tributary:streamId":"00000000000000ff"})"));
    CHECK_FALSE(number_of(R"({"a":1,"tributary:streamId":"ff","tributary:sequenceNumber":5})"));
    CHECK_FALSE(number_of(
        R"({"a":1,"tributary:streamId":"00000000000000fg","tributary:sequenceNumber":5})"));
    CHECK_FALSE(number_of(
        R"({"a":1,"tributary:streamId":"00000000000000ff","tributary:sequenceNumber":})"));
    CHECK_FALSE(number_of(R"(","tributary:sequenceNumber":5})"));
    CHECK_FALSE(number_of(""));
}
