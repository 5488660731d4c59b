// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/own_field.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

using namespace tributary;

namespace {

const OwnField kTransaction{.name = "dnsTransactionId",
                            .from = OwnFieldBase::l4,
                            .offset = 8,
                            .octets = 2,
                            .as = OwnFieldType::unsigned16,
                            .when = "udp port 53"};

std::string fault(OwnField field) {
    return fault_of(std::vector{std::move(field)}).value_or("good");
}
std::string fault_of_name(const std::string& name) {
    OwnField field = kTransaction;
    field.name = name;
    return fault(field);
}
std::string fault_of_type(OwnFieldType type, unsigned octets) {
    OwnField field = kTransaction;
    field.as = type;
    field.octets = static_cast<std::uint8_t>(octets);
    return fault(field);
}

}  // namespace

TEST_CASE("fault_of: a name that elements can't have, or have already, is refused",
          "[flowcache][table][unit]") {
    const std::string rule =
        " is no name of a field: a letter, then letters and digits, at most 48";
    CHECK(fault(kTransaction) == "good");
    CHECK(fault_of_name(std::string(48, 'a')) == "good");
    CHECK(fault_of_name("") == "''" + rule);
    CHECK(fault_of_name("2nd") == "'2nd'" + rule);
    CHECK(fault_of_name("dns-id") == "'dns-id'" + rule);
    CHECK(fault_of_name("d\n\xc3\xa4") ==
          "'d?"
          "?"
          "?'" +
              rule);
    CHECK(fault_of_name(std::string(49, 'a')) == "'" + std::string(49, 'a') + "'" + rule);
    const std::string taken = " is the name of an element that tributary has; choose another one";
    for (const std::string name :
         {"ipTTL", "sourceAddress", "sourceIPv4Address", "tunnelId", "retransmissions",
          "minimumTTL", "flowEndReason", "sourceIPv4PrefixLength", "reverseThing",
          "RETRANSMITTED_IN_PKTS"}) {
        CHECK(fault_of_name(name) == "'" + name + (name[0] == 'R' ? "'" + rule : "'" + taken));
    }
}

TEST_CASE("fault_of: octets that the type does not have, are refused", "[flowcache][table][unit]") {
    using T = OwnFieldType;
    CHECK(fault_of_type(T::unsigned8, 2) == "'dnsTransactionId': unsigned8 has 1 octets, not 2");
    CHECK(fault_of_type(T::unsigned16, 3) ==
          "'dnsTransactionId': unsigned16 has 1 to 2 octets, not 3");
    CHECK(fault_of_type(T::unsigned32, 0) ==
          "'dnsTransactionId': unsigned32 has 1 to 4 octets, not 0");
    CHECK(fault_of_type(T::ipv4_address, 16) ==
          "'dnsTransactionId': ipv4Address has 4 octets, not 16");
    CHECK(fault_of_type(T::string, 33) == "'dnsTransactionId': string has 1 to 32 octets, not 33");
    for (const auto& [type, octets] : {std::pair{T::unsigned8, 1},
                                       {T::unsigned16, 1},
                                       {T::unsigned32, 3},
                                       {T::unsigned64, 8},
                                       {T::ipv4_address, 4},
                                       {T::ipv6_address, 16},
                                       {T::mac_address, 6},
                                       {T::string, 32},
                                       {T::octet_array, 32}}) {
        CHECK(fault_of_type(type, static_cast<unsigned>(octets)) == "good");
    }
}

TEST_CASE("fault_of: two fields of one name, or with the same element numbers, are refused",
          "[flowcache][table][unit]") {
    OwnField other = kTransaction;
    CHECK(fault_of(std::vector{kTransaction, other}) == "'dnsTransactionId' is there twice");
    other.name = "other";
    CHECK(fault_of(std::vector{kTransaction, other}) == std::nullopt);
    other.number = static_cast<std::uint16_t>(slot_of(kTransaction) + 1);
    CHECK(fault_of(std::vector{kTransaction, other}) ==
          "'other' and 'dnsTransactionId' would have the same element numbers; give one of them "
          "another name or a number (1 to 1792) that is not " +
              std::to_string(slot_of(kTransaction) + 1));
    other.number = 1793;
    CHECK(fault(other) == "'other': its number is from 1 to 1792, not 1793");
}

TEST_CASE("slot_of: follows from name, type and octets, and never changes",
          "[flowcache][table][unit]") {
    // Collectors know the numbers: this value has to stay.
    CHECK(slot_of(kTransaction) == 1683);
    OwnField elsewhere = kTransaction;
    elsewhere.offset = 40;
    elsewhere.when.clear();
    CHECK(slot_of(elsewhere) == slot_of(kTransaction));
    OwnField wider = kTransaction;
    wider.as = OwnFieldType::unsigned32;
    CHECK(slot_of(wider) != slot_of(kTransaction));
    wider.number = 1792;
    CHECK(slot_of(wider) == 1791);
    std::set<std::uint16_t> slots;
    for (int index = 0; index < 200; ++index) {
        wider = {.name = "field" + std::to_string(index)};
        slots.insert(slot_of(wider));
    }
    CHECK(slots.size() > 180);
    CHECK(*slots.rbegin() < OwnField::kSlots);
}
