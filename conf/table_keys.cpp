// SPDX-License-Identifier: Apache-2.0
#include "conf/table_keys.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "conf/rules.hpp"
#include "export/options.hpp"

namespace tributary {
namespace {

bool is_declared_name(std::string_view text) { return is_table_name(text) && text != kMainTable; }

bool is_field_name(std::string_view text) { return is_own_field_name(text); }

bool has_entries(const std::vector<std::string>& entries) { return !entries.empty(); }

bool is_any_list(const std::vector<std::string>& /*entries*/) { return true; }

/// A timeout, or `inherit`, which the member holds as 0.
Rule<TableDeclaration> timeout(std::chrono::seconds TableDeclaration::*member) {
    const Rule<TableDeclaration> number = whole_seconds(member, 1, kLongestTimeout);
    constexpr std::string_view kInherit = "inherit";
    return {.limits = std::string(kInherit) + " or " + number.limits,
            .accept =
                [=](const YamlNode& node, TableDeclaration& table) {
                    if (is_scalar(node) && node.text == kInherit) {
                        table.*member = std::chrono::seconds(0);
                        return true;
                    }
                    return number.accept(node, table);
                },
            .yaml =
                [=](const TableDeclaration& table) {
                    return (table.*member).count() == 0 ? std::string(kInherit)
                                                        : number.yaml(table);
                },
            .hint = number.hint,
            .advice = number.advice};
}

/// One of an enumeration's words, which name_of() has.
template <class T, std::size_t kCount>
Rule<OwnField> word_of(T OwnField::*member, const std::array<T, kCount>& values) {
    std::vector<Word<T>> words;
    words.reserve(kCount);
    for (const T each : values) {
        words.push_back({name_of(each), each});
    }
    return choice(member, words);
}

}  // namespace

template <>
TableDeclaration blank() {
    TableDeclaration table;
    table.idle_timeout = std::chrono::seconds(0);
    table.active_timeout = std::chrono::seconds(0);
    return table;
}

template <>
OwnField blank() {
    OwnField field;
    field.octets = 0;
    return field;
}

std::vector<Key<TableDeclaration>> table_keys() {
    using O = TableDeclaration;
    return {
        value("name",
              text(&O::name,
                   "a small letter, then small letters, digits and hyphens, at most 32 of them "
                   "together, other than main",
                   is_declared_name),
              "its name for collectors, accounts and listings; not that of a group of "
              "export.fields"),
        value("filter", filter_text(&O::filter),
              "metered packets that do not match are not in the table; when empty, all are"),
        value("key", text_list(&O::key, "a list of fields, at least one", has_entries),
              "what the packets of a flow have in common: fields by name (docs/fields.md), fields "
              "of your own, addresses also with prefix lengths of IPv4 and IPv6 as in "
              "sourceAddress/24/56, a time with an interval in seconds as in "
              "observationTimeSeconds/60"),
        value("values", text_list(&O::values, "a list of values", is_any_list),
              "what records have beside their key, packets, octets, start and end: sum, min, max, "
              "first, last and or of a numeric field, distinct of any, as in max(ipTTL); "
              "packetDeltaCount and octetDeltaCount may be named, and are there without that"),
        value("direction",
              choice(&O::direction,
                     {{"uniflow", FlowDirection::uniflow}, {"biflow", FlowDirection::biflow}}),
              "one record for each direction, or one for both, where the key has both sides "
              "alike"),
        value("spread",
              choice(&O::spread, {{"queue", TableSpread::queue}, {"key", TableSpread::key}}),
              "which queue has a packet in its records: that which it came to, or that which owns "
              "its key, so that a flow has one record however its packets are spread; of captures "
              "it is always the latter"),
        value("max-flows", whole_number(&O::max_flows, 1, 1U << 30U),
              "flows that the table holds at once, in each queue, as flows.max-flows"),
        value("idle-timeout", timeout(&O::idle_timeout),
              "a flow without a packet for this long is exported; inherit: flows.idle-timeout",
              Apply::to_timeouts),
        value("active-timeout", timeout(&O::active_timeout),
              "a flow that lasts is exported after this long, and begins anew; inherit: "
              "flows.active-timeout",
              Apply::to_timeouts),
    };
}

std::vector<Key<OwnField>> own_field_keys() {
    using O = OwnField;
    using From = OwnFieldBase;
    using As = OwnFieldType;
    return {
        value("name",
              text(&O::name, "a letter, then letters and digits, at most 48 of them together",
                   is_field_name),
              "its name in keys, values and listing filters, and that of its element in records"),
        value("from", word_of(&O::from, std::array{From::frame, From::l3, From::l4, From::payload}),
              "where offset counts from: the frame's first octet; the IP header of the packet "
              "that is metered; what is behind IP's options and extension headers, which a "
              "fragment behind the first one does not have; what is behind the header of TCP, "
              "UDP, UDP-Lite, SCTP, DCCP, ICMP or ICMPv6"),
        value("offset", whole_number(&O::offset, 0, kMost16),
              "octets from there to the field; a packet that ends before the field's end, or of "
              "which less was captured, is in no table that has the field"),
        value("octets", whole_number_or_auto(&O::octets, 1, OwnField::kMostOctets),
              "octets of the field; auto are those of its type, which string and octetArray do "
              "not have"),
        value("as",
              word_of(&O::as, std::array{As::unsigned8, As::unsigned16, As::unsigned32,
                                         As::unsigned64, As::ipv4_address, As::ipv6_address,
                                         As::mac_address, As::string, As::octet_array}),
              "the type of its element (RFC 7012); a number may have fewer octets than its type"),
        value("when", filter_text(&O::when),
              "packets that do not match do not have the field, and are in no table that has it; "
              "when empty, all that are long enough have it"),
        value("number", whole_number_or_auto(&O::number, 1, OwnField::kSlots),
              "which numbers its elements have, where another field's would be the same "
              "(docs/fields.md); auto: they follow from name, type and octets"),
    };
}

}  // namespace tributary
