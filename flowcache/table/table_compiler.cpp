// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/table_compiler.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/table/distinct_counter.hpp"
#include "flowcache/table/table_text.hpp"

namespace tributary {

namespace {

constexpr std::size_t kWord = 8;

[[nodiscard]] constexpr std::size_t rounded_up(std::size_t octets, std::size_t to) noexcept {
    return (octets + to - 1) / to * to;
}

void raise(HeaderNeed& need, HeaderNeed to) noexcept { need = std::max(need, to); }

/// An element of IANA's that a function of a field has.
struct IanaValue {
    ValueFunction function;
    std::string_view field;
    const char* name;
    std::uint16_t number;
    Encoding encoding;
};
constexpr std::array kIanaValues{
    IanaValue{ValueFunction::minimum, "ipTTL", "minimumTTL", 52, Encoding::octets1},
    IanaValue{ValueFunction::maximum, "ipTTL", "maximumTTL", 53, Encoding::octets1},
    IanaValue{ValueFunction::minimum, "ipTotalLength", "minimumIpTotalLength", 25,
              Encoding::unsigned4},
    IanaValue{ValueFunction::maximum, "ipTotalLength", "maximumIpTotalLength", 26,
              Encoding::unsigned4},
    IanaValue{ValueFunction::minimum, "dataLinkFrameSize", "minimumLayer2TotalLength", 422,
              Encoding::unsigned4},
    IanaValue{ValueFunction::maximum, "dataLinkFrameSize", "maximumLayer2TotalLength", 423,
              Encoding::unsigned4},
    IanaValue{ValueFunction::sum, "dataLinkFrameSize", "layer2OctetDeltaCount", 352,
              Encoding::unsigned8},
    IanaValue{ValueFunction::bits, "tcpControlBits", "tcpControlBits", 6, Encoding::unsigned2},
    IanaValue{ValueFunction::bits, "fragmentFlags", "fragmentFlags", 197, Encoding::octets1},
    IanaValue{ValueFunction::distinct, "sourceAddress", "distinctCountOfSourceIPAddress", 378,
              Encoding::unsigned4},
    IanaValue{ValueFunction::distinct, "destinationAddress", "distinctCountOfDestinationIPAddress",
              379, Encoding::unsigned4},
};

/// A value that each record has: octetDeltaCount.
constexpr bool is_octet_count(ValueFunction function, std::string_view field) noexcept {
    return function == ValueFunction::sum && field == "ipTotalLength";
}

/// The element of IANA's for a value, if there is one.
std::optional<IanaValue> iana_value(ValueFunction function, const FieldReference& field) noexcept {
    if (field.field == nullptr || field.has_prefix) {
        return std::nullopt;
    }
    for (const IanaValue& value : kIanaValues) {
        if (value.function == function && value.field == field.field->name) {
            return value;
        }
    }
    if (function == ValueFunction::first && field.field->first_is_element) {
        return IanaValue{function, field.field->name, field.field->name.data(), field.field->number,
                         field.field->encoding};
    }
    return std::nullopt;
}

/// How a value without an element of IANA's lies in a record.
Encoding derived_encoding(ValueFunction function, const FieldReference& field) noexcept {
    if (function == ValueFunction::sum) {
        return Encoding::unsigned8;
    }
    if (function == ValueFunction::distinct) {
        return Encoding::unsigned4;
    }
    if (field.field == nullptr) {
        return encoding_of(field.own->as);
    }
    return field.field->source == FieldSource::view ? Encoding::unsigned4 : field.field->encoding;
}

std::string meaning_of(ValueFunction function, std::string_view text) {
    const std::string field = "`" + std::string(text) + "`";
    switch (function) {
        case ValueFunction::sum:
            return "sum of " + field + " over all packets";
        case ValueFunction::minimum:
            return "the smallest " + field + " of all packets";
        case ValueFunction::maximum:
            return "the largest " + field + " of all packets";
        case ValueFunction::first:
            return field + " of the first packet";
        case ValueFunction::last:
            return field + " of the last packet";
        case ValueFunction::bits:
            return "OR of " + field + " over all packets";
        case ValueFunction::distinct:
        case ValueFunction::none:
            break;
    }
    return "number of distinct " + field + ": exact up to 80, then with a standard error of 4.6 %";
}

/// Runs a step, and says of its errors which list the entry is in.
template <class Step>
void in_list(std::string_view list, Step step) {
    try {
        step();
    } catch (const TableError& error) {
        throw TableError(std::string(list) + ": " + error.what());
    }
}

bool is_of_tunnel(const FieldReference& field) noexcept {
    return field.field != nullptr && field.field->name.starts_with("tunnel");
}
bool is_outer_address(const FieldReference& field) noexcept {
    return field.field != nullptr && (field.field->source == FieldSource::tunnel_source ||
                                      field.field->source == FieldSource::tunnel_destination);
}

/// The elements of an address of one IP version, and of its prefix length.
struct AddressElements {
    FieldSource source;
    bool is_ipv6;
    const char* address;
    std::uint16_t address_number;
    const char* prefix_length;
    std::uint16_t prefix_length_number;
    ElementOwner owner;
};
/// The addresses of FlowKey are elements of a record's core.
constexpr std::array kAddressElements = [] {
    using S = FieldSource;
    constexpr ElementOwner kIana = ElementOwner::iana;
    constexpr ElementOwner kOwn = ElementOwner::tributary;
    return std::array{
        AddressElements{S::source_address, false, "", 0, "sourceIPv4PrefixLength", 9, kIana},
        AddressElements{S::destination_address, false, "", 0, "destinationIPv4PrefixLength", 13,
                        kIana},
        AddressElements{S::source_address, true, "", 0, "sourceIPv6PrefixLength", 29, kIana},
        AddressElements{S::destination_address, true, "", 0, "destinationIPv6PrefixLength", 30,
                        kIana},
        AddressElements{S::tunnel_source, false, "tunnelSourceIPv4Address", 3,
                        "tunnelSourceIPv4PrefixLength", 20, kOwn},
        AddressElements{S::tunnel_destination, false, "tunnelDestinationIPv4Address", 4,
                        "tunnelDestinationIPv4PrefixLength", 21, kOwn},
        AddressElements{S::tunnel_source, true, "tunnelSourceIPv6Address", 5,
                        "tunnelSourceIPv6PrefixLength", 22, kOwn},
        AddressElements{S::tunnel_destination, true, "tunnelDestinationIPv6Address", 6,
                        "tunnelDestinationIPv6PrefixLength", 23, kOwn},
    };
}();

/// Which elements a record of a table with outer addresses in its key has.
enum OuterVariant : std::uint8_t { no_tunnel, over_ipv4, over_ipv6 };
constexpr std::uint8_t kOuterVariants = 3;

/// The outer IP version is the first octet of such a key.
std::uint8_t outer_variant(const std::byte* group, std::uint8_t /*protocol*/) noexcept {
    switch (std::to_integer<unsigned>(*group)) {
        case 4:
            return over_ipv4;
        case 6:
            return over_ipv6;
        default:
            return no_tunnel;
    }
}

std::size_t most_alignment(Encoding encoding) noexcept {
    switch (encoding) {
        case Encoding::unsigned2:
            return 2;
        case Encoding::unsigned4:
            return 4;
        case Encoding::unsigned8:
            return kWord;
        default:
            return 1;
    }
}

/// Whether a value of a record's first packet is more than a first addition to zeros.
bool begins(ValueFunction function) noexcept {
    return function == ValueFunction::minimum || function == ValueFunction::first;
}
/// Whether each packet adds to a value.
bool adds(ValueFunction function) noexcept { return function != ValueFunction::first; }

}  // namespace

std::uint16_t derived_number(ValueFunction function, const FieldReference& field) noexcept {
    constexpr unsigned kIds = 64;
    const auto number = static_cast<unsigned>(function);
    return static_cast<std::uint16_t>(
        field.field != nullptr ? kFirstDerivedElement + kIds * number + field.field->id
                               : kFirstOwnElement + kValueFunctions * slot_of(*field.own) + number);
}

std::string derived_name(ValueFunction function, std::string_view field) {
    std::string name(name_of(function));
    const std::size_t at = name.size();
    name += field;
    if (is_small_letter(name[at])) {
        name[at] = static_cast<char>(name[at] - 'a' + 'A');
    }
    return name;
}

void TableCompiler::compile() {
    check_name();
    in_list("key", [this] { read_key(); });
    check_direction();
    in_list("key", [this] { lay_out_key(); });
    in_list("values", [this] { read_values(); });
    list_own_readers();
    place_parts();
    finish_group();
}

void TableCompiler::check_name() const {
    const std::string& name = table_.declaration_.name;
    if (!is_table_name(name)) {
        throw TableError("name: " + in_quotes(name) +
                         " is no name of a table: a small letter, then small letters, digits and "
                         "'-', at most " +
                         std::to_string(TableDeclaration::kLongestName));
    }
    if (name == "main") {
        throw TableError("name: 'main' is the table that is always there; choose another name");
    }
}

void TableCompiler::use(const FieldReference& field) {
    const auto add_once = [](auto& list, auto value) {
        if (std::ranges::find(list, value) == list.end()) {
            list.push_back(std::move(value));
        }
    };
    if (is_of_tunnel(field) && table_.parse_.tunnel == TunnelMode::outer) {
        throw TableError("'" + std::string(field.name()) +
                         "': packets inside tunnels are metered, and so have one, with "
                         "flows.tunnel: inner alone");
    }
    if (field.field == nullptr) {
        const std::size_t before = table_.own_fields_.size();
        add_once(table_.own_fields_, field.own_index);
        if (table_.own_fields_.size() > before) {
            table_.own_readers_.emplace_back(*field.own);
            raise(table_.own_need_, table_.own_readers_.back().header_need());
        }
    }
    if (field.field == nullptr || !field.field->in_unified_headers) {
        add_once(table_.beyond_unified_headers_, std::string(field.name()));
    }
}

void TableCompiler::read_key() {
    if (table_.declaration_.key.empty()) {
        throw TableError("at least one field, as in [sourceAddress, destinationAddress]");
    }
    for (const std::string& text : table_.declaration_.key) {
        const std::string entry(without_blanks(text));
        const FieldReference field = read_reference(entry, own_);
        use(field);
        const auto is_same = [&field](const Entry& before) {
            return before.field.name() == field.name();
        };
        if (std::ranges::any_of(entries_, is_same)) {
            throw TableError(in_quotes(entry) + ": the key has " + std::string(field.name()) +
                             " already");
        }
        entries_.push_back({entry, field});
    }
}

void TableCompiler::check_direction() const {
    if (table_.declaration_.direction != FlowDirection::biflow) {
        return;
    }
    bool has_sides = false;
    for (const Entry& entry : entries_) {
        const PacketField* const field = entry.field.field;
        if (field == nullptr || field->side == FieldSide::none) {
            continue;
        }
        has_sides = true;
        const auto is_counterpart = [&entry, field](const Entry& other) {
            return other.field.name() == field->counterpart &&
                   other.field.prefix == entry.field.prefix;
        };
        if (std::ranges::none_of(entries_, is_counterpart)) {
            const std::string lengths =
                entry.text.substr(std::min(entry.text.find('/'), entry.text.size()));
            throw TableError("direction: in biflows the key has both sides alike: beside " +
                             in_quotes(entry.text) + " it needs " +
                             in_quotes(std::string(field->counterpart) + lengths));
        }
    }
    if (!has_sides) {
        throw TableError(
            "direction: in biflows the key has fields of source and destination, such "
            "as sourceAddress and destinationAddress; this one has none");
    }
}

void TableCompiler::set_member(const Entry& entry) {
    KeyDescriptor& key = table_.key_;
    switch (entry.field.field->key_member) {
        case KeyMember::source_address:
            key.source = entry.field.prefix;
            key.ip_version = true;
            return;
        case KeyMember::destination_address:
            key.destination = entry.field.prefix;
            key.ip_version = true;
            return;
        case KeyMember::source_port:
            key.source_port = true;
            return;
        case KeyMember::destination_port:
            key.destination_port = true;
            return;
        case KeyMember::protocol:
            key.protocol = true;
            return;
        case KeyMember::vlan:
            key.vlan = true;
            return;
        case KeyMember::ingress_interface:
            key.ingress_interface = true;
            return;
        case KeyMember::ip_version:
            key.ip_version = true;
            return;
        case KeyMember::extension:
            return;
    }
}

FieldReader TableCompiler::reader_of(const FieldReference& field, std::size_t record_octets) {
    if (field.field == nullptr) {
        return FieldReader(*field.own);
    }
    const AddressMasks* masks = nullptr;
    if (field.field->is_address()) {
        masks = &table_.masks_.emplace_back(field.prefix);
    }
    return FieldReader(*field.field, record_octets, masks, field.interval);
}

const char* TableCompiler::keep(std::string text) {
    return table_.texts_.emplace_back(std::move(text)).c_str();
}

std::size_t TableCompiler::new_part(std::size_t octets, std::size_t alignment) {
    parts_.push_back({octets, alignment, 0});
    return parts_.size() - 1;
}

void TableCompiler::add_element(const FieldElement& element, std::size_t part) {
    for (const Pending& before : pending_) {
        if (std::string_view(before.element.name) == element.name) {
            throw TableError("records would have two elements " + std::string(element.name) +
                             (before.element.in_key
                                  ? ": it is in the key, so that all packets of a "
                                    "flow have the same"
                                  : ""));
        }
    }
    pending_.push_back({element, part});
}

void TableCompiler::lay_out_key() {
    table_.key_ = {.source = {0, 0},
                   .destination = {0, 0},
                   .source_port = false,
                   .destination_port = false,
                   .protocol = false,
                   .vlan = false,
                   .ingress_interface = false,
                   .ip_version = false};
    std::size_t at = 0;
    const auto is_outer = [](const Entry& entry) { return is_outer_address(entry.field); };
    if (std::ranges::any_of(entries_, is_outer)) {
        table_.key_numbers_.push_back({FieldReader::of_tunnel_version(), 0});
        at = 1;
    }
    for (const Entry& entry : entries_) {
        extension_at_.push_back(kNoPart);
        if (entry.field.field != nullptr && entry.field.field->key_member != KeyMember::extension) {
            set_member(entry);
            continue;
        }
        extension_at_.back() = at;
        lay_out_part(entry, at);
    }
    if (at > KeyExtractor::kMostOctets) {
        throw TableError(
            "its fields beside addresses, ports, protocol, VLAN id and interface take " +
            std::to_string(at) + " octets, more than " + std::to_string(KeyExtractor::kMostOctets));
    }
    table_.used_key_octets_ = at;
    table_.key_octets_ = rounded_up(at, kWord);
    pair_sides();
    for (const Entry& entry : entries_) {
        if (entry.field.has_prefix) {
            add_prefix_lengths(entry);
        }
    }
}

void TableCompiler::lay_out_part(const Entry& entry, std::size_t& at) {
    const std::size_t octets =
        entry.field.field != nullptr ? octets_of(entry.field.field->encoding) : 0;
    const FieldReader reader = reader_of(entry.field, octets);
    raise(table_.key_need_, reader.header_need());
    auto& parts = reader.is_number() ? table_.key_numbers_ : table_.key_octet_parts_;
    parts.push_back({reader, static_cast<std::uint16_t>(at)});
    add_key_elements(entry, at);
    at += reader.record_octets();
}

std::size_t TableCompiler::extension_place(std::string_view name) const {
    const auto is_it = [name](const Entry& entry) { return entry.field.name() == name; };
    const auto found = std::ranges::find_if(entries_, is_it);
    return found == entries_.end()
               ? kNoPart
               : extension_at_[static_cast<std::size_t>(found - entries_.begin())];
}

void TableCompiler::pair_sides() {
    for (const Entry& entry : entries_) {
        const PacketField* const field = entry.field.field;
        if (field == nullptr || field->side != FieldSide::source) {
            continue;
        }
        const std::size_t source = extension_place(field->name);
        const std::size_t destination = extension_place(field->counterpart);
        if (source != kNoPart && destination != kNoPart) {
            table_.sides_.push_back({static_cast<std::uint16_t>(source),
                                     static_cast<std::uint16_t>(destination), field->octets});
        }
    }
}

void TableCompiler::add_key_elements(const Entry& entry, std::size_t at) {
    FieldElement element{.name = "",
                         .number = 0,
                         .encoding = Encoding::octets1,
                         .offset = static_cast<std::uint16_t>(at),
                         .meaning = "part of the key",
                         .owner = ElementOwner::tributary,
                         .in_key = true};
    if (entry.field.field == nullptr) {
        const OwnField& own = *entry.field.own;
        element.name = keep(own.name);
        element.number = derived_number(ValueFunction::none, entry.field);
        element.encoding = encoding_of(own.as);
        element.text_octets = has_length(element.encoding) ? own.octets : std::uint8_t{0};
        add_element(element, kNoPart);
        return;
    }
    const PacketField& field = *entry.field.field;
    element.meaning = field.meaning.data();
    element.owner = field.owner;
    if (!field.is_address()) {
        element.name = field.name.data();
        element.number = field.number;
        element.encoding = field.encoding;
        add_element(element, kNoPart);
        return;
    }
    for (const AddressElements& each : kAddressElements) {
        if (each.source == field.source) {
            element.name = each.address;
            element.number = each.address_number;
            element.encoding = each.is_ipv6 ? Encoding::octets16 : Encoding::octets4;
            element.variants = in_variants(each.is_ipv6 ? over_ipv6 : over_ipv4);
            add_element(element, kNoPart);
        }
    }
}

void TableCompiler::add_prefix_lengths(const Entry& entry) {
    const PacketField& field = *entry.field.field;
    for (const AddressElements& each : kAddressElements) {
        if (each.source != field.source) {
            continue;
        }
        const std::size_t part = new_part(1, 1);
        part_of_constant_.push_back(part);
        table_.constants_.push_back(
            {0, each.is_ipv6 ? entry.field.prefix.ipv6 : entry.field.prefix.ipv4});
        FieldElement element{.name = each.prefix_length,
                             .number = each.prefix_length_number,
                             .encoding = Encoding::octets1,
                             .offset = 0,
                             .meaning = "leading bits of the address that are in the key",
                             .owner = each.owner,
                             .in_key = true};
        if (is_outer_address(entry.field)) {
            element.variants = in_variants(each.is_ipv6 ? over_ipv6 : over_ipv4);
        } else {
            element.condition = each.is_ipv6 ? Condition::ipv6 : Condition::ipv4;
        }
        add_element(element, part);
    }
}

void TableCompiler::read_values() {
    for (const std::string& text : table_.declaration_.values) {
        const ValueReference value = read_value(text, own_);
        if (value.function == ValueFunction::none) {
            continue;
        }
        use(value.field);
        if (!is_octet_count(value.function, value.field.name())) {
            add_value(text, value);
        }
    }
}

void TableCompiler::add_value(const std::string& text, const ValueReference& value) {
    FieldElement element{.name = "",
                         .number = 0,
                         .encoding = derived_encoding(value.function, value.field),
                         .offset = 0,
                         .meaning = "",
                         .owner = ElementOwner::tributary};
    if (const auto iana = iana_value(value.function, value.field)) {
        element.name = iana->name;
        element.number = iana->number;
        element.encoding = iana->encoding;
        element.owner = ElementOwner::iana;
    } else {
        element.name = keep(derived_name(value.function, value.field.name()));
        element.number = derived_number(value.function, value.field);
    }
    const std::string_view entry = without_blanks(text);
    table_.value_elements_.push_back({std::string(entry), element.name});
    const std::size_t open = entry.find('(');
    element.meaning = keep(meaning_of(
        value.function, without_blanks(entry.substr(open + 1, entry.size() - open - 2))));
    const bool is_distinct = value.function == ValueFunction::distinct;
    element.offset =
        static_cast<std::uint16_t>(is_distinct ? DistinctCounter::result_at() : std::size_t{0});
    const std::size_t octets = octets_of(element.encoding);
    const FieldReader reader = reader_of(value.field, octets);
    raise(table_.values_need_, reader.header_need());
    const std::size_t part = is_distinct ? new_part(sizeof(DistinctCounter), kWord)
                                         : new_part(octets, most_alignment(element.encoding));
    add_element(element, part);
    part_of_value_.push_back(part);
    table_.values_.push_back({value.function, reader, 0});
}

void TableCompiler::place_parts_of(std::size_t alignment, std::size_t& at) {
    for (Part& part : parts_) {
        if (part.alignment == alignment) {
            part.at = at;
            at += part.octets;
        }
    }
}

void TableCompiler::place_parts() {
    std::size_t at = table_.key_octets_;
    for (std::size_t alignment = kWord; alignment > 0; alignment /= 2) {
        place_parts_of(alignment, at);
    }
    const std::size_t octets = rounded_up(at, kWord);
    table_.group_.octets = static_cast<std::uint16_t>(std::min<std::size_t>(octets, UINT16_MAX));
    if (table_.record_octets() > kLargestRecord) {
        throw TableError("its records take " + std::to_string(table_.record_octets()) +
                         " octets, more than " + std::to_string(kLargestRecord) +
                         "; distinct() takes " + std::to_string(sizeof(DistinctCounter)) +
                         " each, in biflows twice");
    }
    for (std::size_t index = 0; index < part_of_value_.size(); ++index) {
        table_.values_[index].to = static_cast<std::uint16_t>(parts_[part_of_value_[index]].at);
    }
    for (std::size_t index = 0; index < part_of_constant_.size(); ++index) {
        table_.constants_[index].to =
            static_cast<std::uint16_t>(parts_[part_of_constant_[index]].at);
    }
}

void TableCompiler::list_own_readers() {
    for (std::size_t place = 0; place < table_.own_fields_.size(); ++place) {
        const auto is_it = [index = table_.own_fields_[place]](const Entry& entry) {
            return entry.field.field == nullptr && entry.field.own_index == index;
        };
        const FieldReader& reader = table_.own_readers_[place];
        if (!reader.is_number() || std::ranges::none_of(entries_, is_it)) {
            table_.own_readers_beside_key_.push_back(reader);
        }
    }
}

void TableCompiler::finish_group() {
    for (const Pending& pending : pending_) {
        FieldElement element = pending.element;
        if (pending.part != kNoPart) {
            element.offset = static_cast<std::uint16_t>(element.offset + parts_[pending.part].at);
        }
        table_.elements_.push_back(element);
    }
    FieldGroup& group = table_.group_;
    group.name = table_.declaration_.name;
    group.elements = table_.elements_;
    group.chosen_by = ChosenBy::table;
    group.in_unified_headers = table_.beyond_unified_headers_.empty();
    group.context = &table_;
    group.key_octets = static_cast<std::uint16_t>(table_.key_octets_);
    const auto has_values = [this](auto concerns) {
        return std::ranges::any_of(table_.values_, concerns, &CompiledTable::Value::function);
    };
    if (group.octets > table_.key_octets_) {
        const bool is_gathered = table_.packets_ == TablePackets::gathered;
        if (has_values(&begins)) {
            group.begin = is_gathered ? &CompiledTable::begin_gathered : &CompiledTable::begin;
        }
        if (has_values(&adds)) {
            group.add = is_gathered ? &CompiledTable::add_gathered : &CompiledTable::add;
        }
        group.finish = &CompiledTable::finish;
    }
    const auto is_outer = [](const Entry& entry) { return is_outer_address(entry.field); };
    if (std::ranges::any_of(entries_, is_outer)) {
        group.variants = kOuterVariants;
        group.variant_of = &outer_variant;
    }
    if (group.octets != 0 && !is_valid(group)) {
        throw TableError("it has " + std::to_string(group.elements.size()) +
                         " elements beside those of each record, more than 64");
    }
}

}  // namespace tributary
