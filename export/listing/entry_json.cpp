// SPDX-License-Identifier: Apache-2.0
#include "export/listing/entry_json.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/reverse_elements.hpp"
#include "export/messages/json_value.hpp"
#include "export/messages/sent_elements.hpp"

namespace tributary {
namespace {

constexpr std::uint16_t kObservationDomainId = 149;

/// An element's name in its registry: of a reverse element that of the forward one.
struct RegisteredName {
    std::string_view scope;  ///< empty: it is not registered
    std::string name;
    bool is_reverse{};
};

/// "octetDeltaCount" of "reverseOctetDeltaCount".
std::string forward_name(std::string_view reverse) {
    constexpr std::string_view kPrefix = "reverse";
    std::string name(reverse.substr(std::min(kPrefix.size(), reverse.size())));
    // ReverseName has made the first letter a capital, unless it was one: VRFname.
    const bool was_capital =
        name.size() > 1 && std::isupper(static_cast<unsigned char>(name[1])) != 0;
    if (!name.empty() && !was_capital) {
        name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    }
    return name;
}

/// Whether an element has no name but its number, or one that an exporter has given it.
bool is_unregistered(const IpfixElement& element) {
    const std::string number =
        "e" + std::to_string(element.enterprise) + "id" + std::to_string(element.number);
    return element.name == number || element.name.find('/') != std::string::npos;
}

RegisteredName own_name(TributaryElement own, bool is_reverse) {
    const auto found = own_element(static_cast<std::uint16_t>(own), lasting_groups());
    return found ? RegisteredName{.scope = "tributary",
                                  .name = found->element->name,
                                  .is_reverse = is_reverse}
                 : RegisteredName{};
}

RegisteredName registered_name(const IpfixElement& element) {
    if (element.own != TributaryElement::none) {
        return own_name(element.own, false);
    }
    if (element.own_reverse != TributaryElement::none) {
        return own_name(element.own_reverse, true);
    }
    if (is_unregistered(element)) {
        return {};
    }
    const bool has_bit = (element.number & kReverseBit) != 0;
    switch (element.enterprise) {
        case 0:
            return {.scope = "iana", .name = element.name};
        case kReverseEnterprise:
            return {.scope = "iana", .name = forward_name(element.name), .is_reverse = true};
        case kNtopEnterprise:
            return {.scope = "ntop", .name = element.name};
        case kCertEnterprise:
            return {.scope = "cert",
                    .name = has_bit ? forward_name(element.name) : element.name,
                    .is_reverse = has_bit};
        default:
            return {};
    }
}

void append_text(std::string& line, std::string_view text) {
    const std::size_t at = line.size();
    line.resize(at + 2 + kMostJsonTextOctets * text.size());
    const char* const end = put_json_text(line.data() + at, text);
    line.resize(static_cast<std::size_t>(end - line.data()));
}

/// "en12345:peer" of "12345/peer". Another element without a name may be "en12345:id7", so that a
/// name of this form is not taken; empty: there is none that is.
std::string described_name(const IpfixElement& element) {
    const std::size_t slash = element.name.find('/');
    if (slash == std::string::npos) {
        return {};
    }
    std::string name = element.name.substr(slash + 1);
    const bool is_number = name.starts_with("id") && name.size() > 2 &&
                           name.find_first_not_of("0123456789", 2) == std::string::npos;
    return is_number ? std::string() : std::move(name);
}

/// Appends the values of an element.
void append_values(std::string& line, const IpfixRecord& record, std::size_t index, JsonForm form) {
    const std::vector<IpfixField>& fields = record.layout->fields;
    const bool is_list = fields[index].next_same_element != 0;
    line += is_list ? "[" : "";
    for (;;) {
        const std::span<const std::byte> value = record.values[index];
        const std::size_t at = line.size();
        line.resize(at + most_json_octets(form, value.size()));
        const char* const end = put_json_value(line.data() + at, form, value);
        line.resize(static_cast<std::size_t>(end - line.data()));
        index = fields[index].next_same_element;
        if (index == 0) {
            break;
        }
        line += ',';
    }
    line += is_list ? "]" : "";
}

void append_member(std::string& line, const IpfixRecord& record, std::size_t index) {
    const IpfixElement& element = *record.layout->fields[index].element;
    const RegisteredName known = registered_name(element);
    line += ',';
    if (known.scope.empty()) {
        const std::string described = described_name(element);
        append_text(line,
                    "en" + std::to_string(element.enterprise) + ':' +
                        (described.empty() ? "id" + std::to_string(element.number) : described));
    } else {
        append_text(line, json_name(known.scope, known.name, known.is_reverse));
    }
    line += ':';
    append_values(
        line, record, index,
        known.scope == "iana" ? json_form(element.type, known.name) : json_form(element.type));
}

}  // namespace

std::string entry_json(const IpfixRecord& record) {
    std::string line = R"({"@type":"ipfix.entry")";
    bool has_domain = false;
    for (std::size_t index = 0; index < record.layout->fields.size(); ++index) {
        const IpfixField& field = record.layout->fields[index];
        if (!field.repeated && !field.element->is_padding) {
            append_member(line, record, index);
            has_domain = has_domain || (field.element->enterprise == 0 &&
                                        field.element->number == kObservationDomainId);
        }
    }
    if (!has_domain) {
        line += ",\"iana:observationDomainId\":" + std::to_string(record.domain);
    }
    if (!record.table.empty()) {
        line += ",\"tributary:tableName\":";
        append_text(line, record.table);
    }
    return line + '}';
}

}  // namespace tributary
