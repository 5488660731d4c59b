// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/field_reference.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace tributary;

namespace {

const std::vector<OwnField> kReferredFields{
    {.name = "dnsTransactionId", .octets = 2, .as = OwnFieldType::unsigned16},
    {.name = "word", .octets = 8, .as = OwnFieldType::string},
    {.name = "peer", .octets = 4, .as = OwnFieldType::ipv4_address},
};

template <class Read>
std::string fault_of_reading(Read read) {
    try {
        static_cast<void>(read());
    } catch (const TableError& error) {
        return error.what();
    }
    return "good";
}
std::string key_fault(const std::string& entry) {
    return fault_of_reading([&entry] { return read_reference(entry, kReferredFields); });
}
std::string value_fault(const std::string& entry) {
    return fault_of_reading([&entry] { return read_value(entry, kReferredFields); });
}

}  // namespace

TEST_CASE("read_reference: fields of the catalogue and of the user's own, in each form",
          "[flowcache][table][unit]") {
    FieldReference read = read_reference(" ipTTL ", kReferredFields);
    CHECK(read.field == find_packet_field("ipTTL"));
    CHECK(read.own == nullptr);
    CHECK_FALSE(read.has_prefix);
    CHECK(read.interval == 1);
    CHECK(read.is_numeric());
    read = read_reference("destinationAddress/0/128", kReferredFields);
    CHECK(read.name() == "destinationAddress");
    CHECK(read.has_prefix);
    CHECK(read.prefix == AddressPrefix{0, 128});
    CHECK_FALSE(read.is_numeric());
    CHECK(read_reference("sourceAddress", kReferredFields).prefix == AddressPrefix{32, 128});
    CHECK(read_reference("tunnelSourceAddress/8/16", kReferredFields).prefix ==
          AddressPrefix{8, 16});
    CHECK(read_reference("observationTimeSeconds/86400", kReferredFields).interval == 86'400);
    read = read_reference("word", kReferredFields);
    CHECK(read.field == nullptr);
    CHECK(read.own == &kReferredFields[1]);
    CHECK(read.own_index == 1);
    CHECK_FALSE(read.is_numeric());
    CHECK(read_reference("dnsTransactionId", kReferredFields).is_numeric());
}

TEST_CASE("read_value: each function, and what each record has", "[flowcache][table][unit]") {
    using V = ValueFunction;
    for (const auto& [word, function] : {std::pair{"sum", V::sum},
                                         {"min", V::minimum},
                                         {"max", V::maximum},
                                         {"first", V::first},
                                         {"last", V::last},
                                         {"or", V::bits},
                                         {"distinct", V::distinct}}) {
        const ValueReference value = read_value(std::string(word) + "( ipTTL )", kReferredFields);
        CHECK(value.function == function);
        CHECK(value.field.name() == "ipTTL");
        CHECK(name_of(function) == word);
    }
    CHECK(read_value("distinct(sourceAddress/24/56)", kReferredFields).field.prefix ==
          AddressPrefix{24, 56});
    CHECK(read_value("octetDeltaCount", kReferredFields).function == V::none);
    CHECK(read_value(" packetDeltaCount", kReferredFields).function == V::none);
}

TEST_CASE("read_reference: an unknown field, is refused, with a near name",
          "[flowcache][table][unit]") {
    CHECK(key_fault("sourceAdress") ==
          "'sourceAdress': there is no such field; did you mean sourceAddress?");
    CHECK(key_fault("dnsTransactionID/3") ==
          "'dnsTransactionID/3': there is no such field; did you mean dnsTransactionId?");
    CHECK(key_fault("") == "'': there is no such field; docs/fields.md lists them");
    CHECK(key_fault("qqqqqqqqqqqq") ==
          "'qqqqqqqqqqqq': there is no such field; docs/fields.md lists them");
    CHECK(key_fault("sourceIPv4Address/24") ==
          "'sourceIPv4Address/24': sourceIPv4Address is no field here; name sourceAddress");
    CHECK(value_fault("max(iptl)") == "'iptl': there is no such field; did you mean ipTTL?");
    CHECK(key_fault("DESTINATIONADDRESS").ends_with("; did you mean destinationAddress?"));
}

TEST_CASE("read_reference: prefix lengths and intervals that can't be, are refused",
          "[flowcache][table][unit]") {
    for (const std::string lengths : {"24", "24/", "/56", "33/56", "24/129", "0/0", "24/56/1",
                                      "-1/56", "+4/56", "24/5 6", "99999999999/1", "", "a/b"}) {
        const std::string entry = "sourceAddress/" + lengths;
        CHECK(key_fault(entry) == "'" + entry +
                                      "': behind an address are the prefix lengths of IPv4 (0 to "
                                      "32) and of IPv6 (0 to 128), not both 0, as in "
                                      "sourceAddress/24/56");
    }
    for (const std::string interval : {"0", "86401", "", "60s", "60/60"}) {
        const std::string entry = "observationTimeSeconds/" + interval;
        CHECK(key_fault(entry) ==
              "'" + entry +
                  "': behind a time is an interval of 1 to 86400 seconds, as in "
                  "observationTimeSeconds/60");
    }
    CHECK(key_fault("vlanId/5") ==
          "'vlanId/5': only addresses have prefix lengths, and only "
          "a time has an interval");
    CHECK(key_fault("peer/24/56").ends_with("only a time has an interval"));
}

TEST_CASE("read_value: values that are none, are refused", "[flowcache][table][unit]") {
    const std::string forms =
        ": a value is packetDeltaCount, octetDeltaCount, or a function of a field (sum, min, max, "
        "first, last, or, distinct), as in max(ipTTL)";
    CHECK(value_fault("ipTTL") == "'ipTTL'" + forms);
    CHECK(value_fault("max(ipTTL") == "'max(ipTTL'" + forms);
    CHECK(value_fault("packetDeltaCuont") ==
          "'packetDeltaCuont'" + forms + "; did you mean packetDeltaCount?");
    CHECK(value_fault("") == "''" + forms);
    CHECK(value_fault("avg(ipTTL)") ==
          "'avg(ipTTL)': there is no function 'avg'; they are sum, min, max, first, last, "
          "or, distinct");
    CHECK(value_fault("distinc(ipTTL)") ==
          "'distinc(ipTTL)': there is no function 'distinc'; did you mean distinct?");
    CHECK(value_fault("(ipTTL)").starts_with("'(ipTTL)': there is no function ''"));
    CHECK(value_fault("max(sourceAddress)") ==
          "'max(sourceAddress)': sourceAddress is no number, and max() is of numbers; "
          "distinct() takes any field");
    CHECK(value_fault("or(word)").starts_with("'or(word)': word is no number"));
    CHECK(value_fault("max()") == "'': there is no such field; docs/fields.md lists them");
}
