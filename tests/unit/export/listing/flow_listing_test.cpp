// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_listing.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/flow_listing_harness.hpp"
#include "tests/support/temporary_directory.hpp"

using tributary::FlowFilter;
using tributary::FlowListingOptions;
using tributary::list_flows;
using tributary::ListingFormat;
using tributary::ListingResult;
using tributary::ListingStatus;
using tributary::test::flow_data;
using tributary::test::flow_file;
using tributary::test::IpfixBytes;
using tributary::test::list;
using tributary::test::list_octets;
using tributary::test::Listed;
using tributary::test::Specifier;
using tributary::test::template_record;
using tributary::test::TemporaryDirectory;
using tributary::test::TemporaryFile;

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

TEST_CASE("list_flows: a record without the usual fields, shows the others", "[export][unit]") {
    const Listed listed =
        list_octets(IpfixBytes()
                        .message(IpfixBytes()
                                     .set(2, template_record(256, {{86, 8}, {85, 8}}))
                                     .set(256, IpfixBytes().u64(3).u64(9)))
                        .octets());
    REQUIRE(listed.lines.size() == 3);
    CHECK(listed.lines[0] == "Start  Duration  Packets  Octets  End");
    CHECK(listed.lines[1] == "-             -        3       9  -");
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
    CHECK(listed.lines[1].find("TCP     [2001:db8::1]:80  2001:db8::1 ") != std::string::npos);
    CHECK(listed.lines[2].find("ICMPv6  2001:db8::1       [2001:db8::1]:128.0") !=
          std::string::npos);
}

TEST_CASE("list_flows: a filter, applies to listing and summary", "[export][unit]") {
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

TEST_CASE("list_flows: an input with a fault, is listed up to there, and those behind it are too",
          "[export][unit]") {
    const TemporaryFile good(flow_file({{}}));
    const TemporaryFile cut(flow_file({{}}) + "cut");
    FlowListingOptions options;
    options.files = {good.path(), cut.path(), good.path()};
    Listed listed = list(options);
    CHECK(listed.result.status == ListingStatus::data_error);
    CHECK(listed.result.message ==
          cut.path() +
              ": message 2 at octet 123: the file ends inside the message header (1 of 3 "
              "inputs could not be read to the end)");
    CHECK(listed.lines.size() == 5);

    options.files = {good.path(), "/nonexistent/x.ipfix"};
    listed = list(options);
    CHECK(listed.result.status == ListingStatus::no_input);
    CHECK(
        listed.result.message ==
        "/nonexistent/x.ipfix: cannot open: No such file or directory (1 of 2 inputs could not be "
        "read to the end)");
    CHECK(listed.lines.size() == 3);

    options.files = {"/nonexistent/x.ipfix"};
    CHECK(list(options).result.message ==
          "/nonexistent/x.ipfix: cannot open: No such file or directory");

    options.files = {"/proc/self/mem"};  // opens, and its first page cannot be read
    CHECK(list(options).result.message == "/proc/self/mem: cannot read: Input/output error");
}

TEST_CASE("list_flows: a capture, is reported as one", "[export][unit]") {
    for (const char* magic : {"\xD4\xC3\xB2\xA1", "\xA1\xB2\xC3\xD4", "\x0A\x0D\x0D\x0A"}) {
        const Listed listed = list_octets(magic + std::string(20, 'x'));
        CHECK(listed.result.status == ListingStatus::data_error);
        CHECK_THAT(listed.result.message,
                   Catch::EndsWith(": message 1 at octet 0: this is a capture of packets; "
                                   "tributaryd --read meters it into IPFIX"));
    }
}

TEST_CASE("list_flows: a directory, is its files by name", "[export][unit]") {
    const TemporaryDirectory directory;
    const auto write = [&directory](const std::string& name, const std::string& octets) {
        std::ofstream(directory / name, std::ios::binary) << octets;
    };
    write("b.ipfix", flow_file({{.octets = 2}}));
    write("a.ipfix", flow_file({{.octets = 1}}));
    write("c.ipfix.part", "being written");
    write(".hidden", "no IPFIX");
    std::filesystem::create_directory(directory / "deeper");
    FlowListingOptions options;
    options.files = {directory.path()};
    const Listed listed = list(options);
    CHECK(listed.result.status == ListingStatus::ok);
    REQUIRE(listed.lines.size() == 4);
    CHECK_THAT(listed.lines[1], Catch::Contains("  1  idle"));
    CHECK_THAT(listed.lines[2], Catch::Contains("  2  idle"));

    options.files = {(directory / "deeper").string()};
    const Listed empty = list(options);
    CHECK(empty.result.status == ListingStatus::no_input);
    CHECK_THAT(empty.result.message,
               Catch::EndsWith("deeper: no finished file is in this directory"));
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
    options.format = GENERATE(ListingFormat::table, ListingFormat::json);
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
    options.format = tributary::ListingFormat::json;
    CHECK(
        list_octets(octets, options).lines ==
        std::vector<std::string>{
            R"({"@type":"options","@template":300,"@domain":1,"@exportTime":1700000000,"@sequence":7,)"
            R"("@scope":["exportingProcessId"],"exportingProcessId":5,"exportedMessageTotalCount":6})"});
    options.filter = FlowFilter("not proto tcp");
    CHECK(list_octets(octets, options).lines.empty());
}

TEST_CASE(
    "list_flows: templates beyond what is kept, end with a fault after all that can be listed",
    "[export][unit]") {
    IpfixBytes file;
    const IpfixBytes large = template_record(300, std::vector<Specifier>(16'000, {4, 1}));
    for (std::uint32_t domain = 0; domain < 67; ++domain) {
        file.message(IpfixBytes().set(2, large), domain);
    }
    const TemporaryFile first(file.octets());
    const TemporaryFile second(flow_file({{}}));
    FlowListingOptions options;
    options.files = {first.path(), second.path()};
    const Listed listed = list(options);
    CHECK(listed.lines.size() == 3);
    CHECK(listed.result.status == ListingStatus::data_error);
    CHECK(listed.result.message.find(
              first.path() +
              ": message 66 at octet 4161560: template 300 is beyond what is kept: ") == 0);
    CHECK(listed.warnings ==
          std::vector<std::string>{
              first.path() +
              ": 2 templates refused, because there are too many; their records are not listed"});
}

TEST_CASE("list_flows: names that are not taken, are a warning", "[export][unit]") {
    const IpfixBytes types = template_record(400, {{346, 4}, {303, 2}, {339, 1}, {341, 65535}}, 2);
    const IpfixBytes type =
        IpfixBytes().u32(12345).u16(7).u8(1).u8(255).u16(500).text(std::string(500, 'n'));
    const Listed listed =
        list_octets(IpfixBytes().message(IpfixBytes().set(3, types).set(400, type)).octets());
    REQUIRE(listed.warnings.size() == 1);
    CHECK(listed.warnings[0].find(": 1 names of elements not taken, longer than 128 octets or ") !=
          std::string::npos);
    CHECK(listed.result.status == ListingStatus::ok);
}
