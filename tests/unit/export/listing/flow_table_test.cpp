// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_table.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// The lines of a table of these flows, header first.
std::vector<std::string> lines_of(const std::vector<FlowView>& flows) {
    std::stringstream out;
    FlowTable table(out);
    for (const FlowView& flow : flows) {
        table.add(flow);
    }
    table.flush();
    std::vector<std::string> lines;
    for (std::string line; std::getline(out, line);) {
        lines.push_back(line);
    }
    return lines;
}

FlowView tunnelled(TunnelKind kind, std::uint32_t id, const std::string& source = "192.0.2.1",
                   const std::string& destination = "192.0.2.2") {
    FlowView flow;
    flow.tunnel = {
        .source = ip_address(source),
        .destination = ip_address(destination),
        .id = id,
        .kind = kind,
        .ip_version = static_cast<std::uint8_t>(source.find(':') == std::string::npos ? 4 : 6)};
    return flow;
}

}  // namespace

TEST_CASE("FlowTable: a block that is full, is printed before the next row comes",
          "[export][unit]") {
    std::ostringstream out;
    FlowTable table(out, 2);
    FlowView flow;
    table.add(flow);
    CHECK(out.str().empty());
    table.add(flow);
    const std::string first = out.str();
    CHECK(std::count(first.begin(), first.end(), '\n') == 3);
    flow.core.key.vlan = {5};
    table.add(flow);
    table.flush();
    const std::string second = out.str().substr(first.size());
    CHECK(std::count(second.begin(), second.end(), '\n') == 2);
    CHECK(second.find("VLAN") != std::string::npos);
    CHECK(first.find("VLAN") == std::string::npos);
}

TEST_CASE("FlowTable: a tunnel in any flow, gives its column", "[export][unit]") {
    CHECK(lines_of({FlowView{}}).at(0).find("Tunnel") == std::string::npos);
    const std::vector<std::string> lines =
        lines_of({FlowView{}, tunnelled(TunnelKind::ip_in_ip, 0), tunnelled(TunnelKind::gre, 0),
                  tunnelled(TunnelKind::gre, 7), tunnelled(TunnelKind::erspan, 0),
                  tunnelled(TunnelKind::vxlan, 0), tunnelled(TunnelKind::gtp_u, 9),
                  tunnelled(TunnelKind{77}, 1),
                  tunnelled(TunnelKind::geneve, 42, "2001:db8::1", "2001:db8::2")});
    const std::size_t begin = lines.at(0).find("Tunnel");
    const std::size_t end = lines.at(0).find("Flags");
    std::string column;
    for (std::size_t line = 1; line < lines.size(); ++line) {
        const std::string text = lines[line].substr(begin, end - begin);
        column += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
    }
    CHECK('\n' + column == R"(
-
IP-in-IP 192.0.2.1 > 192.0.2.2
GRE 192.0.2.1 > 192.0.2.2
GRE 7 192.0.2.1 > 192.0.2.2
ERSPAN 0 192.0.2.1 > 192.0.2.2
VXLAN 0 192.0.2.1 > 192.0.2.2
GTP-U 9 192.0.2.1 > 192.0.2.2
tunnel type 77 1 192.0.2.1 > 192.0.2.2
GENEVE 42 2001:db8::1 > 2001:db8::2
)");
}

TEST_CASE("FlowTable: a biflow in any row gives the columns of the reverse direction",
          "[export][unit]") {
    using std::chrono::milliseconds;
    FlowView biflow;
    biflow.core.key.protocol = 6;
    biflow.core.tcp_control_bits = 0x02;
    biflow.core.packets = 5;
    biflow.core.octets = 500;
    biflow.core.start = Timestamp{milliseconds{2000}};
    biflow.core.end = Timestamp{milliseconds{3000}};
    const FlowView one_way = biflow;
    biflow.reverse = {.tcp_control_bits = 0x112,
                      .packets = 12,
                      .octets = 14000,
                      .start = Timestamp{milliseconds{2500}},
                      .end = Timestamp{milliseconds{4250}}};
    const std::vector<std::string> lines = lines_of({biflow, one_way});
    CHECK(lines.at(0) ==
          "Start                     Duration  Proto  Source  Destination  Flags   ToS  Packets  "
          "Octets  RevFlags  RevPackets  RevOctets  End");
    CHECK(lines.at(1) ==
          "1970-01-01T00:00:02.000Z     2.250  TCP    -       -            ....S.    0        5  "
          "   500  .A..S.            12      14000  -");
    CHECK(lines.at(2) ==
          "1970-01-01T00:00:02.000Z     1.000  TCP    -       -            ....S.    0        5  "
          "   500  -                  0          0  -");
    CHECK(lines_of({one_way}).at(0).find("Rev") == std::string::npos);
}

TEST_CASE("FlowTable: analysed TCP in any row gives its columns", "[export][unit]") {
    FlowView tcp;
    tcp.core.key.protocol = 6;
    tcp.counts = {9, 1, 2, 3, 4};  // segments, and what columns show
    FlowView biflow = tcp;
    biflow.reverse.packets = 1;
    biflow.reverse_counts = {1, 0, 5, 0, 0};
    const auto columns_of = [](const std::string& line) {
        std::istringstream words(line);
        std::vector<std::string> columns{std::istream_iterator<std::string>(words), {}};
        return columns;
    };
    const std::vector<std::string> lines = lines_of({tcp, FlowView{}});
    const std::vector<std::string> titles = columns_of(lines.at(0));
    const auto at = std::ranges::find(titles, "Retrans") - titles.begin();
    REQUIRE(titles.size() == static_cast<std::size_t>(at) + 5);
    CHECK(std::vector(titles.begin() + at, titles.end()) ==
          std::vector<std::string>{"Retrans", "Dups", "OutOfOrder", "ZeroWindow", "End"});
    const std::vector<std::string> cells = columns_of(lines.at(1));
    CHECK(std::vector(cells.begin() + at, cells.end()) ==
          std::vector<std::string>{"1", "2", "3", "4", "-"});
    const std::vector<std::string> without = columns_of(lines.at(2));
    CHECK(std::vector(without.begin() + at, without.end()) ==
          std::vector<std::string>{"-", "-", "-", "-", "-"});
    const std::vector<std::string> both = columns_of(lines_of({biflow}).at(1));
    CHECK(std::vector(both.begin() + at, both.begin() + at + 4) ==
          std::vector<std::string>{"1/0", "2/5", "3/0", "4/0"});
    CHECK(lines_of({FlowView{}}).at(0).find("Retrans") == std::string::npos);

    INFO("of a direction without a segment that was analysed nothing is known");
    biflow.reverse_counts.at(0) = 0;
    const std::vector<std::string> half = columns_of(lines_of({biflow}).at(1));
    CHECK(std::vector(half.begin() + at, half.begin() + at + 4) ==
          std::vector<std::string>{"1/-", "2/-", "3/-", "4/-"});
}

TEST_CASE("FlowTable: counts that no record has give no column", "[export][unit]") {
    FlowView tcp;
    tcp.core.key.protocol = 6;
    tcp.counts.at(ListedCounts().find("duplicates").value()) = 7;
    FlowView other = tcp;
    other.counts = {};
    const std::vector<std::string> lines = lines_of({tcp, other});
    CHECK(lines.at(0).find("Dups") != std::string::npos);
    CHECK(lines.at(0).find("Retrans") == std::string::npos);
    CHECK(lines.at(0).find("ZeroWindow") == std::string::npos);
    CHECK(lines.at(1).ends_with("    7  -"));
    CHECK(lines.at(2).ends_with("    -  -"));
}

TEST_CASE("FlowTable: prefixes, and what of the two ends a record has", "[export][unit]") {
    FlowView net;
    net.core.key.ip_version = 4;
    net.core.key.source = ip_address("10.1.2.0");
    net.core.key.destination = ip_address("10.0.0.1");
    net.core.key.destination_port = {53};
    net.core.key.protocol = 17;
    net.source = {.is_prefix = true, .prefix_bits = 24};
    net.has_source_port = false;
    CHECK(source_text(net) == "10.1.2.0/24");
    CHECK(destination_text(net) == "10.0.0.1:53");
    net.has_source_port = true;
    net.source.prefix_bits.reset();
    CHECK(source_text(net) == "[10.1.2.0/?]:0");
    net.destination.is_known = false;
    CHECK(destination_text(net) == ":53");
    net.has_destination_port = false;
    CHECK(destination_text(net) == "-");
    net.core.key.protocol = 1;
    CHECK(destination_text(net) == "-");
    net.has_destination_port = true;
    CHECK(destination_text(net) == ":0.53");

    FlowView outer = tunnelled(TunnelKind::gre, 0);
    outer.outer_source = {.is_prefix = true, .prefix_bits = 24};
    outer.outer_destination.is_known = false;
    CHECK(lines_of({outer}).at(1).find("GRE 192.0.2.1/24 > - ") != std::string::npos);
}

TEST_CASE("FlowTable: columns that no flow needs are hidden until one does", "[export][unit]") {
    FlowView bare;
    bare.source.is_known = bare.destination.is_known = bare.has_protocol = false;
    bare.has_class_of_service = bare.has_flags = false;
    bare.has_source_port = bare.has_destination_port = false;
    CHECK(lines_of({bare}).at(0) == "Start  Duration  Packets  Octets  End");
    FlowView some = bare;
    some.has_protocol = some.has_class_of_service = true;
    CHECK(lines_of({bare, some}).at(0) == "Start  Duration  Proto  ToS  Packets  Octets  End");
    CHECK(lines_of({bare, some}).at(1) == "-             -  -        -        0       0  -");
    CHECK(lines_of({}).at(0) ==
          "Start  Duration  Proto  Source  Destination  Flags  ToS  Packets  Octets  End");
}

TEST_CASE("FlowTable: tables and further values have columns, so many and no more",
          "[export][unit]") {
    std::ostringstream out;
    FlowTable table(out, 2);
    ListedFlow flow{.flow = FlowView(),
                    .table = "nets",
                    .further = {{"a", "1", true}, {"text", "x", false}, {"a", "23", true}}};
    table.add(flow);
    table.add(FlowView());
    const std::string first = out.str();
    CHECK(first.starts_with("Table  Start  "));
    CHECK(first.find("Octets     a  text  End\n") != std::string::npos);
    CHECK(first.find("     0  1,23  x     -\n") != std::string::npos);
    CHECK(first.find("     0     -  -     -\n") != std::string::npos);
    flow.further.clear();
    for (std::size_t count = 0; count < 2 * FlowTable::kMostFurther; ++count) {
        flow.further.push_back({"v" + std::to_string(count), "1", true});
    }
    table.add(flow);
    table.flush();
    const std::string last = "v" + std::to_string(FlowTable::kMostFurther - 3);
    const std::string second = out.str().substr(first.size());
    CHECK(second.find("  " + last + "  End\n") != std::string::npos);
    CHECK(second.find("v" + std::to_string(FlowTable::kMostFurther - 2)) == std::string::npos);
}

TEST_CASE("time_text: rounds down, and handles leap days", "[export][unit]") {
    CHECK(time_text(Timestamp{std::chrono::nanoseconds{1'709'210'096'789'999'999}}) ==
          "2024-02-29T12:34:56.789Z");
    CHECK(time_text(Timestamp{}) == "-");
    CHECK(seconds_text(std::chrono::nanoseconds{61'000'999'999}) == "61.000");
}
