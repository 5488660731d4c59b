// SPDX-License-Identifier: Apache-2.0
#include "export/messages/csv_encoder.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "export/ipfix/encoder_options.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/export_harness.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

struct Csv {
    explicit Csv(const FieldGroups& groups = {}, FlowDirection direction = FlowDirection::uniflow)
        : metering{.layout = RecordLayout::of(groups, direction)},
          encoder(encoder_options(options_of(groups), {}, metering), metering),
          room(encoder.most_octets()) {}
    static ExportOptions options_of(const FieldGroups& groups) {
        ExportOptions options;
        options.timestamps = TimestampUnit::nanoseconds;
        options.fields = groups;
        return options;
    }
    std::string line(const Record& record) {
        const std::size_t octets = encoder.encode(0, bytes_of(record), 7, room);
        return {reinterpret_cast<const char*>(room.data()), octets};
    }

    MeteringProcess metering;
    CsvEncoder encoder;
    std::vector<std::byte> room;
};

}  // namespace

TEST_CASE("CsvEncoder: a uniflow and its empty columns", "[export][unit]") {
    CHECK(Csv().line(record_of(4711)) ==
          "1600000000250,1600000000750,17,192.0.0.1,4711,198.0.0.2,53,,,7,0,0,10,1000,,,,idle,,,,,"
          ",,,,,,,");
    Record icmp = record_of(0, 6);
    icmp.core.key.protocol = 58;
    icmp.core.key.vlan = {12};
    CHECK(Csv().line(icmp) ==
          "1600000000250,1600000000750,58,c000:1::,,c600:2::,,53,12,7,0,0,10,1000,,,,idle,,,,,"
          ",,,,,,,");
}

TEST_CASE("CsvEncoder: a biflow in a tunnel, with the counts of TCP analysis", "[export][unit]") {
    const FieldGroups groups = groups_of<TunnelGroup, TcpAnalysisGroup>();
    Csv csv(groups, FlowDirection::biflow);
    Record record = record_of(1);
    record.core.key.protocol = 6;
    record.core.tcp_control_bits = 0x1B;
    auto& reverse = record.group<ReverseGroup>(csv.metering.layout.reverse_at);
    reverse.packets = 3;
    reverse.octets = 300;
    reverse.tcp_control_bits = 0x12;
    reverse.start = record.core.start;
    reverse.end = record.core.end;
    auto& tunnel = record.group<TunnelGroup>(csv.metering.layout.at<TunnelGroup>());
    tunnel.kind = TunnelKind::vxlan;
    tunnel.id = 77;
    tunnel.ip_version = 4;
    tunnel.source = {std::byte{203}, std::byte{0}, std::byte{113}, std::byte{1}};
    const std::string line = csv.line(record);
    INFO(line);
    CHECK(
        line.starts_with("1600000000250,1600000000750,6,192.0.0.1,1,198.0.0.2,53,,,7,0,27,10,"
                         "1000,18,3,300,idle,VXLAN,77,203.0.113.1,0.0.0.0,"));
    const std::string header = flow_csv_header();
    CHECK(std::ranges::count(line, ',') == std::ranges::count(header, ','));
}

TEST_CASE("CsvEncoder: a record takes no memory", "[export][unit]") {
    Csv csv;
    const Record record = record_of(1, 6);
    const std::size_t before = allocations();
    for (int round = 0; round < 100; ++round) {
        static_cast<void>(csv.encoder.encode(0, bytes_of(record), 0, csv.room));
    }
    CHECK(allocations() == before);
}
