// SPDX-License-Identifier: Apache-2.0
// Filters that name elements.
#include "export/listing/element_condition.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "export/listing/flow_filter.hpp"
#include "tests/support/flow_listing_harness.hpp"

using tributary::FilterError;
using tributary::FlowFilter;
using tributary::FlowListingOptions;
using tributary::is_element_name;
using tributary::ListingFormat;
using tributary::ListingStatus;
using tributary::test::IpfixBytes;
using tributary::test::list_octets;
using tributary::test::Listed;
using tributary::test::Specifier;
using tributary::test::template_record;

namespace {

constexpr std::uint32_t kEnterprise = 12'345;
constexpr std::uint16_t kNamedTypes = 400;

/// An element of the enterprise, with its type by RFC 5610 and a value.
struct Described {
    std::string name;
    std::uint8_t type;
    std::string value;
};

IpfixBytes described(const std::vector<Described>& elements) {
    IpfixBytes types;
    std::vector<Specifier> fields;
    IpfixBytes values;
    std::uint16_t number = 1;
    for (const Described& each : elements) {
        types.u32(kEnterprise).u16(number).u8(each.type).u8(each.name.size()).text(each.name);
        const bool is_text = each.type == 13 || each.type == 0;
        const auto octets = static_cast<std::uint16_t>(is_text ? 65535 : each.value.size());
        fields.push_back({number, octets, kEnterprise});
        if (is_text) {
            values.u8(each.value.size());
        }
        values.text(each.value);
        ++number;
    }
    return IpfixBytes()
        .set(3, template_record(kNamedTypes, {{346, 4}, {303, 2}, {339, 1}, {341, 65535}}, 2))
        .set(kNamedTypes, types)
        .set(2, template_record(256, fields))
        .set(256, values);
}

Listed listed_by(const std::string& filter, const IpfixBytes& sets) {
    FlowListingOptions options;
    options.filter = FlowFilter(filter);
    options.format = ListingFormat::entry_json;
    return list_octets(IpfixBytes().message(sets).octets(), options);
}

/// Whether the one record of some elements passes.
bool passes(const std::string& filter, const std::vector<Described>& elements) {
    const Listed listed = listed_by(filter, described(elements));
    INFO(filter << ": " << listed.result.message);
    CHECK(listed.result.status == ListingStatus::ok);
    return listed.lines.size() == 1;
}

std::string fault(const std::string& filter, const std::vector<Described>& elements) {
    const Listed listed = listed_by(filter, described(elements));
    CHECK(listed.result.status == ListingStatus::usage);
    CHECK(listed.lines.empty());
    return listed.result.message;
}

std::string fault_of_named(const std::string& filter) {
    try {
        const FlowFilter parsed(filter);
    } catch (const FilterError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("FlowFilter: an element of one's own, by the name that the input describes",
          "[export][unit]") {
    const std::vector<Described> record{{"dnsTransactionId", 2, "\x10\x92"}};  // 4242
    for (const char* const filter :
         {"dnsTransactionId == 4242", "dnsTransactionId = 0x1092", "dnsTransactionId != 4243",
          "dnsTransactionId >= 4k and dnsTransactionId < 5k", "12345/dnsTransactionId == 4242",
          "not dnsTransactionId == 1", "port 53 or 12345/dnsTransactionId == 4242",
          "host 10.0.0.1 or (dnsTransactionId==4242)"}) {
        CHECK(passes(filter, record));
    }
    for (const char* const filter :
         {"dnsTransactionId == 4243", "dnsTransactionId > 4242", "12345/dnsTransactionId < 4242",
          "dnsTransactionId != 4242", "udp and dnsTransactionId == 4242"}) {
        CHECK_FALSE(passes(filter, record));
    }
}

TEST_CASE("FlowFilter: values of each type", "[export][unit]") {
    using namespace std::string_literals;
    const std::string v6 = "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x01";
    const std::vector<Described> record{
        {"signed", 6, "\xFF\xFE"s},    // -2
        {"real", 9, "\x3F\xC0\0\0"s},  // 1.5
        {"yes", 11, "\x01"s},
        {"no", 11, "\x02"s},
        {"mac", 12, "\0\x1B\x21\x0A\x0B\x0C"s},
        {"method", 13, "GET"s},
        {"empty", 13, ""s},
        {"seconds", 14, "\x65\x53\xF1\x00"s},  // 2023-11-14T22:13:20
        {"address", 18, "\x0A\x01\x02\x03"s},
        {"sixth", 19, v6},
        {"array", 0, "\x0A\x1B"s},
        {"long", 0, "\0\0\0\0\0\0\0\0\x01"s},
    };
    for (const char* const filter : {"signed == -2",
                                     "signed < 0",
                                     "signed < 4000000000",
                                     "real == 1.5",
                                     "real > 1",
                                     "real < 1.6e0",
                                     "yes == true",
                                     "yes = 1",
                                     "no == false",
                                     "no != true",
                                     "mac == 00:1b:21:0a:0b:0c",
                                     "mac = 00-1B-21-0A-0B-0C",
                                     "mac != 00:00:00:00:00:01",
                                     "method == GET",
                                     "method != POST",
                                     "empty != GET",
                                     "seconds == 2023-11-14T22:13:20",
                                     "seconds >= 2023-11-14",
                                     "seconds < 2023-11-15",
                                     "address == 10.1.2.3",
                                     "address = 10.1.0.0/16",
                                     "address != 10.2.0.0/16",
                                     "address != 2001:db8::1",
                                     "sixth == 2001:db8::/32",
                                     "sixth == 2001:db8::1",
                                     "array == 0x0a1b",
                                     "array == 2587",
                                     "array > 2586",
                                     "long == 0x000000000000000001",
                                     "long != 0x01"}) {
        CHECK(passes(filter, record));
    }
    for (const char* const filter :
         {"signed == 65534", "signed > 0", "real != 1.5", "yes == false", "no == true",
          "mac != 00:1b:21:0a:0b:0c", "method == get", "method == GE",
          "seconds > 2023-11-14T22:13:20", "address == 10.1.2.4", "address == 10.0.0.0/16",
          "sixth != 2001:db8::/32", "array == 0x0a1c", "long == 0x01"}) {
        CHECK_FALSE(passes(filter, record));
    }
}

TEST_CASE("FlowFilter: elements of IANA's, one that is there several times, and none",
          "[export][unit]") {
    const IpfixBytes sets = IpfixBytes()
                                .set(2, template_record(256, {{52, 1}, {70, 3}, {52, 1}}))
                                .set(256, IpfixBytes().u8(3).u8(0).u16(16).u8(60));
    const auto count = [&sets](const std::string& filter) {
        const Listed listed = listed_by(filter, sets);
        CHECK(listed.result.status == ListingStatus::ok);
        return listed.lines.size();
    };
    CHECK(count("minimumTTL == 3") == 1);
    CHECK(count("minimumTTL == 60") == 1);
    CHECK(count("minimumTTL == 61") == 0);
    CHECK(count("mplsTopLabelStackSection == 16") == 1);
    // Registered, and not in the record: neither holds.
    CHECK(count("maximumTTL == 3") == 0);
    CHECK(count("maximumTTL != 3") == 0);
    CHECK(count("tunnelId != 3") == 0);
}

TEST_CASE("FlowFilter: a value that an element cannot have is refused with its column",
          "[export][unit]") {
    const std::vector<Described> record{{"id", 2, "\x10\x92"},
                                        {"mac", 12, "\x01\x1B\x21\x0A\x0B\x0C"},
                                        {"address", 18, "\x0A\x01\x02\x03"},
                                        {"method", 13, "GET"},
                                        {"flag", 11, "\x01"},
                                        {"stamp", 14, "\x65\x53\xF1\x00"},
                                        {"array", 0, "\x0A\x1B"},
                                        {"signed", 6, "\xFF\xFE"},
                                        {"real", 9, "\x3F\xC0\x01\x01"}};
    CHECK(fault("udp or id == x", record) ==
          "filter, column 8: '12345/id' is a number, expected one such as 4242, 0x1092 or 64k, "
          "found 'x'");
    CHECK(fault("mac == 5", record) ==
          "filter, column 1: '12345/mac' is a MAC address, expected one such as "
          "00:1b:21:0a:0b:0c, found '5'");
    CHECK(fault("mac > 00:1b:21:0a:0b:0c", record) ==
          "filter, column 1: '12345/mac' has no order, expected = or !=, found "
          "'00:1b:21:0a:0b:0c'");
    CHECK(fault("address == 10.1", record) ==
          "filter, column 1: '12345/address' is an address, expected one, or a network such as "
          "10.0.0.0/8, found '10.1'");
    CHECK(fault("method < a", record) ==
          "filter, column 1: '12345/method' has no order, expected = or !=, found 'a'");
    CHECK(fault("flag == 2", record) ==
          "filter, column 1: '12345/flag' is true or false, found '2'");
    CHECK(fault("stamp > 15m", record) ==
          "filter, column 1: '12345/stamp' is a time, expected one such as 2026-02-28T12:30:00, in "
          "UTC, found '15m'");
    CHECK(fault("array == abc", record) ==
          "filter, column 1: '12345/array' has octets, expected a number or their digits, as in "
          "0x0a1b, found 'abc'");
    CHECK(
        fault("signed == 1.5", record).starts_with("filter, column 1: '12345/signed' is a number"));
    CHECK(fault("real == 1.5.", record).starts_with("filter, column 1: '12345/real' is a number"));
}

TEST_CASE("FlowFilter: a name that nothing has is refused when all is read", "[export][unit]") {
    const std::vector<Described> record{{"dnsTransactionId", 2, "\x10\x92"}};
    CHECK(fault("dnsTransactionID == 4242", record) ==
          "filter, column 1: 'dnsTransactionID' is no word of filters, and no element that IANA or "
          "the input gives this name");
    CHECK(fault("udp and 123/dnsTransactionId == 4242", record).starts_with("filter, column 9: "));
    // An element without a description has its number for a name.
    const IpfixBytes sets = IpfixBytes()
                                .set(2, template_record(256, {{7, 2, kEnterprise}}))
                                .set(256, IpfixBytes().u16(9));
    CHECK(listed_by("e12345id7 == 9", sets).lines.size() == 1);
    // Where nothing was read, no name can be known.
    CHECK(listed_by("dnsTransactionId == 4242", IpfixBytes()).result.status == ListingStatus::ok);
}

TEST_CASE("FlowFilter: names of elements, and what is none", "[export][unit]") {
    for (const char* const name : {"dnsTransactionId", "a", "x1", "12345/peer", "0/a_b-c.d"}) {
        CHECK(is_element_name(name));
    }
    for (const char* const name : {"", "1a", "a/b", "/a", "12345/", "12345/1", "10.0.0.0/8", "a b",
                                   "2001:db8::/32", "a\x1B"}) {
        CHECK_FALSE(is_element_name(name));
    }
    // A comparison has to follow; words of pcap filters and of other tools stay what they are.
    CHECK(
        fault_of_named("dnsTransactionId 5").starts_with("filter, column 1: expected a condition"));
    CHECK(fault_of_named("bytes > 5").ends_with("did you mean 'octets'?"));
    CHECK(fault_of_named("len > 5") ==
          "filter, column 1: 'len' is of packets; flows do not tell it");
    CHECK(fault_of_named("tcp and and == 5").starts_with("filter, column 9: expected a condition"));
    CHECK(fault_of_named("src name == 5") ==
          "filter, column 5: expected 'host', 'net' or 'port', found 'name'");
    CHECK(fault_of_named("name ==") ==
          "filter, column 8: expected a value to compare with, found the end");
    CHECK(fault_of_named("name == )") ==
          "filter, column 9: expected a value to compare with, found ')'");
    CHECK(fault_of_named("name == == 5") ==
          "filter, column 9: expected a value to compare with, found '=='");
    CHECK(fault_of_named("octets > 5 and port > 53").empty());
}
