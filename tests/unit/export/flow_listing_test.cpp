// SPDX-License-Identifier: Apache-2.0
#include "export/flow_listing.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "export/flow_ranking.hpp"
#include "tests/support/ipfix_bytes.hpp"

using tributary::FlowFilter;
using tributary::FlowListingOptions;
using tributary::FlowOrder;
using tributary::FlowRanking;
using tributary::list_flows;
using tributary::ListingResult;
using tributary::ListingStatus;
using tributary::test::IpfixBytes;
using tributary::test::Specifier;
using tributary::test::template_record;

namespace {

/// A file of one's own for the time of a test.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& octets) {
        const int descriptor = mkstemp(path_.data());
        REQUIRE(descriptor >= 0);
        close(descriptor);
        std::ofstream(path_, std::ios::binary) << octets;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { std::remove(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_ = "/tmp/tributary-listing-XXXXXX";
};

struct Listed {
    ListingResult result;
    std::string text;
    std::vector<std::string> lines;  ///< the same, split
    std::vector<std::string> warnings;
};

Listed list(const FlowListingOptions& options) {
    std::stringstream out;
    Listed listed;
    listed.result = list_flows(
        options, out, [&listed](const std::string& text) { listed.warnings.push_back(text); });
    listed.text = out.str();
    for (std::string line; std::getline(out, line);) {
        listed.lines.push_back(line);
    }
    return listed;
}

Listed list_octets(const std::string& octets, FlowListingOptions options = {}) {
    const TemporaryFile file(octets);
    options.files = {file.path()};
    return list(options);
}

/// Protocol, source and destination address and port, packets, octets, start and end in
/// milliseconds, flags, ToS, end reason, VLAN.
const std::vector<Specifier> flow_fields{{4, 1}, {8, 4},   {7, 2},   {12, 4},  {11, 2},
                                         {2, 4}, {1, 4},   {152, 8}, {153, 8}, {6, 2},
                                         {5, 1}, {136, 1}, {58, 2}};

struct Flow {
    std::uint8_t protocol = 17;
    std::uint32_t source = 0x0A000001;
    std::uint16_t source_port = 5000;
    std::uint16_t destination_port = 53;
    std::uint32_t packets = 1;
    std::uint32_t octets = 100;
    std::uint16_t flags = 0;
    std::uint16_t vlan = 0;
};

IpfixBytes flow_data(const std::vector<Flow>& flows) {
    IpfixBytes data;
    for (const Flow& flow : flows) {
        data.u8(flow.protocol).u32(flow.source).u16(flow.source_port).u32(0x0A000002);
        data.u16(flow.destination_port).u32(flow.packets).u32(flow.octets);
        data.u64(1'700'000'000'123)
            .u64(1'700'000'001'500)
            .u16(flow.flags)
            .u8(8)
            .u8(1)
            .u16(flow.vlan);
    }
    return data;
}

std::string flow_file(const std::vector<Flow>& flows) {
    return IpfixBytes()
        .message(IpfixBytes().set(2, template_record(256, flow_fields)).set(256, flow_data(flows)))
        .octets();
}

}  // namespace

TEST_CASE("list_flows: a table, has a header, aligned rows and a summary", "[export][unit]") {
    const Listed listed =
        list_octets(flow_file({{.packets = 20, .octets = 12345},
                               {.protocol = 6,
                                .source = 0xC0A8640A,
                                .source_port = 40000,
                                .destination_port = 443,
                                .flags = 0x1B},
                               {.protocol = 1, .source_port = 0, .destination_port = 0x0301},
                               {.protocol = 47, .source_port = 0, .destination_port = 0}}));
    CHECK(listed.result.status == ListingStatus::ok);
    CHECK('\n' + listed.text == R"(
Start                     Duration  Proto  Source                Destination   Flags   ToS  Packets  Octets  End
2023-11-14T22:13:20.123Z     1.377  UDP    10.0.0.1:5000         10.0.0.2:53   -         8       20   12345  idle
2023-11-14T22:13:20.123Z     1.377  TCP    192.168.100.10:40000  10.0.0.2:443  .AP.SF    8        1     100  idle
2023-11-14T22:13:20.123Z     1.377  ICMP   10.0.0.1              10.0.0.2:3.1  -         8        1     100  idle
2023-11-14T22:13:20.123Z     1.377  GRE    10.0.0.1              10.0.0.2      -         8        1     100  idle
4 records, 23 packets, 12645 octets, 2023-11-14T22:13:20.123Z to 2023-11-14T22:13:21.500Z (1.377 s)
)");
}

TEST_CASE("list_flows: a VLAN in any record, gives its column", "[export][unit]") {
    const Listed listed = list_octets(flow_file({{.vlan = 0}, {.vlan = 4000}}));
    REQUIRE(listed.lines.size() == 4);
    CHECK(listed.lines[0].find("Destination  VLAN  Flags") != std::string::npos);
    CHECK(listed.lines[1].find("10.0.0.2:53     -  -") != std::string::npos);
    CHECK(listed.lines[2].find("10.0.0.2:53  4000  -") != std::string::npos);
}

TEST_CASE("list_flows: no record, still a header and a summary", "[export][unit]") {
    const Listed listed = list_octets("");
    CHECK('\n' + listed.text == R"(
Start  Duration  Proto  Source  Destination  Flags  ToS  Packets  Octets  End
0 records, 0 packets, 0 octets
)");
}

TEST_CASE("list_flows: a record without the usual fields, shows what it has", "[export][unit]") {
    const Listed listed =
        list_octets(IpfixBytes()
                        .message(IpfixBytes()
                                     .set(2, template_record(256, {{86, 8}, {85, 8}}))
                                     .set(256, IpfixBytes().u64(3).u64(9)))
                        .octets());
    REQUIRE(listed.lines.size() == 3);
    CHECK(listed.lines[1] ==
          "-             -  0      -       -            -        0        3       9  -");
    CHECK(listed.lines[2] == "1 records, 3 packets, 9 octets");
}

TEST_CASE("list_flows: IPv6 endpoints, stand in brackets", "[export][unit]") {
    const IpfixBytes address = IpfixBytes().u32(0x20010DB8).u32(0).u32(0).u32(1);
    const Listed listed = list_octets(
        IpfixBytes()
            .message(
                IpfixBytes()
                    .set(2, template_record(256, {{4, 1}, {27, 16}, {7, 2}, {28, 16}, {139, 2}}))
                    .set(256, IpfixBytes()
                                  .u8(6)
                                  .text(address.octets())
                                  .u16(80)
                                  .text(address.octets())
                                  .u16(0)
                                  .u8(58)
                                  .text(address.octets())
                                  .u16(0)
                                  .text(address.octets())
                                  .u16(0x8000)))
            .octets());
    REQUIRE(listed.lines.size() == 4);
    CHECK(listed.lines[1].find("TCP     [2001:db8::1]:80  [2001:db8::1]:0 ") != std::string::npos);
    CHECK(listed.lines[2].find("ICMPv6  2001:db8::1       [2001:db8::1]:128.0") !=
          std::string::npos);
}

TEST_CASE("list_flows: sorted, the most come first and equals stay as read", "[export][unit]") {
    FlowListingOptions options;
    options.json = GENERATE(false, true);
    options.order = GENERATE(FlowOrder::octets, FlowOrder::packets);
    const Listed listed = list_octets(flow_file({{.source_port = 1, .packets = 1, .octets = 50},
                                                 {.source_port = 2, .packets = 9, .octets = 40},
                                                 {.source_port = 3, .packets = 1, .octets = 50}}),
                                      options);
    std::string order;
    for (const std::string& line : listed.lines) {
        for (const char port : {'1', '2', '3'}) {
            const bool here =
                line.find(std::string("10.0.0.1:") + port + " ") != std::string::npos ||
                line.find(std::string("\"sourceTransportPort\":") + port + ",") !=
                    std::string::npos;
            order += here ? std::string(1, port) : "";
        }
    }
    CHECK(order == (options.order == FlowOrder::octets ? "132" : "213"));
}

TEST_CASE("list_flows: top, shows the first by octets and sums up all", "[export][unit]") {
    FlowListingOptions options;
    options.top = 1;
    const Listed listed =
        list_octets(flow_file({{.octets = 10}, {.octets = 30}, {.octets = 20}}), options);
    REQUIRE(listed.lines.size() == 3);
    CHECK(listed.lines[1].find("     30  idle") != std::string::npos);
    CHECK(listed.lines[2] ==
          "3 records, 3 packets, 60 octets, 2023-11-14T22:13:20.123Z to 2023-11-14T22:13:21.500Z "
          "(1.377 s); "
          "the first 1 shown");
}

TEST_CASE("list_flows: a filter, keeps what matches from listing and summary", "[export][unit]") {
    FlowListingOptions options;
    options.filter = FlowFilter("port 5001");
    const Listed listed = list_octets(flow_file({{}, {.source_port = 5001, .octets = 7}}), options);
    REQUIRE(listed.lines.size() == 3);
    CHECK(listed.lines[2].substr(0, 30) == "1 records, 1 packets, 7 octets");
}

TEST_CASE("list_flows: several files, are one listing", "[export][unit]") {
    const TemporaryFile a(flow_file({{.octets = 1}}));
    const TemporaryFile b(flow_file({{.octets = 2}}));
    FlowListingOptions options;
    options.files = {a.path(), b.path()};
    const Listed listed = list(options);
    REQUIRE(listed.lines.size() == 4);
    CHECK(listed.lines[3].substr(0, 30) == "2 records, 2 packets, 3 octets");
}

TEST_CASE("list_flows: a fault, ends the listing after what came before", "[export][unit]") {
    const TemporaryFile good(flow_file({{}}));
    const TemporaryFile cut(flow_file({{}}) + "cut");
    FlowListingOptions options;
    options.files = {good.path(), cut.path(), good.path()};
    Listed listed = list(options);
    CHECK(listed.result.status == ListingStatus::data_error);
    CHECK(listed.result.message ==
          cut.path() + ": message 2 at octet 123: the file ends inside the message header");
    CHECK(listed.lines.size() == 4);

    options.files = {good.path(), "/nonexistent/x.ipfix"};
    listed = list(options);
    CHECK(listed.result.status == ListingStatus::no_input);
    CHECK(listed.result.message == "/nonexistent/x.ipfix: cannot open: No such file or directory");
    CHECK(listed.lines.size() == 3);

    options.files = {"/"};
    CHECK(list(options).result.message == "/: cannot read: Is a directory");
}

TEST_CASE("list_flows: an output that takes no more, is a failure with its cause",
          "[export][unit]") {
    const TemporaryFile file(flow_file({{}}));
    FlowListingOptions options;
    options.files = {file.path()};
    std::ofstream full("/dev/full");
    const ListingResult result = list_flows(options, full, [](const std::string&) {});
    CHECK(result.status == ListingStatus::write_failure);
    CHECK(result.message == "cannot write the listing: No space left on device");
}

TEST_CASE("list_flows: an output whose reader has gone, is no failure", "[export][unit]") {
    const TemporaryFile file(flow_file({{}}));
    FlowListingOptions options;
    options.files = {file.path()};
    options.json = GENERATE(false, true);
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    std::ofstream out("/dev/fd/" + std::to_string(ends[1]));
    close(ends[0]);
    close(ends[1]);
    auto* const before = std::signal(SIGPIPE, SIG_IGN);
    const ListingResult result = list_flows(options, out, [](const std::string&) {});
    out.close();  // tries to write once more
    std::signal(SIGPIPE, before);
    CHECK(result.status == ListingStatus::output_closed);
    CHECK(result.message.empty());
}

TEST_CASE("list_flows: sets without template, are a warning", "[export][unit]") {
    const Listed listed =
        list_octets(IpfixBytes().message(IpfixBytes().set(256, flow_data({{}}))).octets());
    CHECK(listed.result.status == ListingStatus::ok);
    REQUIRE(listed.warnings.size() == 1);
    CHECK(listed.warnings[0].find(": 1 sets skipped, for want of their template") !=
          std::string::npos);
}

TEST_CASE("list_flows: options records, are in plain JSON only", "[export][unit]") {
    const std::string octets =
        IpfixBytes()
            .message(IpfixBytes()
                         .set(3, template_record(300, {{144, 4}, {41, 8}}, 1))
                         .set(300, IpfixBytes().u32(5).u64(6)))
            .octets();
    CHECK(list_octets(octets).lines.back() == "0 records, 0 packets, 0 octets");
    FlowListingOptions options;
    options.json = true;
    CHECK(
        list_octets(octets, options).lines ==
        std::vector<std::string>{
            R"({"@type":"options","@template":300,"@domain":1,"@exportTime":1700000000,"@sequence":7,)"
            R"("@scope":["exportingProcessId"],"exportingProcessId":5,"exportedMessageTotalCount":6})"});
    options.filter = FlowFilter("not proto tcp");
    CHECK(list_octets(octets, options).lines.empty());
}

TEST_CASE("FlowRanking: of many items, keeps the best in order", "[export][unit]") {
    FlowRanking<int> ranking(3);
    for (int item = 0; item < 100; ++item) {
        ranking.add(static_cast<std::uint64_t>(item * 37 % 50), item);
    }
    std::vector<int> kept;
    ranking.drain([&kept](int item) { kept.push_back(item); });
    // 37 * 27 % 50 is 49, and 77 has the same; then 37 * 4 % 50 is 48.
    CHECK(kept == std::vector<int>{27, 77, 4});
    CHECK(FlowRanking<int>(0).admits(1) == false);
}

TEST_CASE("list_flows: of biflows both directions are summed up, and ranked by", "[export][unit]") {
    constexpr std::uint32_t kReverse = 29305;
    const std::string file =
        IpfixBytes()
            .message(
                IpfixBytes()
                    .set(2, template_record(256, {{4, 1}, {2, 4}, {1, 4}}))
                    .set(2, template_record(
                                257, {{4, 1}, {2, 4}, {1, 4}, {2, 4, kReverse}, {1, 4, kReverse}}))
                    .set(256, IpfixBytes().u8(6).u32(3).u32(200))
                    .set(257, IpfixBytes().u8(17).u32(1).u32(100).u32(2).u32(101)))
            .octets();
    Listed listed = list_octets(file);
    CHECK(listed.lines.back() == "2 records, 6 packets, 401 octets");
    FlowListingOptions options;
    options.top = 1;
    listed = list_octets(file, options);
    REQUIRE(listed.lines.size() == 3);
    CHECK(listed.lines[1].find("UDP") != std::string::npos);
    CHECK(listed.lines[2] == "2 records, 6 packets, 401 octets; the first 1 shown");
}
