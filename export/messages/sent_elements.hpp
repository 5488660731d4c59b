// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "export/ipfix/record_elements.hpp"
#include "export/messages/json_value.hpp"
#include "flowcache/fields/field_element.hpp"
#include "flowcache/fields/field_groups.hpp"

namespace tributary {

/// The element of a template's field, as its registry has it.
struct SentElement {
    const FieldElement* element{};
    bool is_reverse{};
};

/// The elements that templates of one table's flow records can have, by their names.
/// @cost  looks at each element of each group when it is made
class SentElements {
public:
    /// @param groups  that the records have; those that are compiled in are known
    explicit SentElements(const FieldGroups& groups);
    /// @errors  std::out_of_range: no template of make_templates() has such a field
    [[nodiscard]] const SentElement& of(const TemplateField& field) const {
        return by_name_.at(field.element);
    }

private:
    void add(const FieldElement& element);

    std::map<std::string_view, SentElement> by_name_;
};

/// Takes the next value from a data record.
///
/// @param octets  of the value; kVariableLength: its length stands in front of it, in one octet
[[nodiscard]] inline std::span<const std::byte> take_value(std::span<const std::byte>& rest,
                                                           std::uint16_t octets) noexcept {
    std::size_t length = octets;
    if (octets == kVariableLength) {
        length = std::to_integer<std::size_t>(rest.front());
        rest = rest.subspan(1);
    }
    const std::span<const std::byte> value = rest.first(length);
    rest = rest.subspan(length);
    return value;
}

/// How JSON writes the element's values.
[[nodiscard]] JsonForm json_form(const SentElement& sent, Encoding encoding) noexcept;

/// The name of an element as IPFIXcol2's JSON output has it: "iana:octetDeltaCount",
/// "iana@reverse:octetDeltaCount@reverse", "tributary:tunnelId@reverse". ntop's reverse elements
/// have names of their own.
///
/// @source  libfds: a reverse element is named NAME@reverse; those of IANA's have a scope of their
///          own, all others that of the element
[[nodiscard]] std::string json_name(const SentElement& sent);
/// @param scope  "iana", "tributary", "ntop" or "cert"
/// @param name   of the element, or of the one of which it is the reverse
[[nodiscard]] std::string json_name(std::string_view scope, std::string_view name, bool is_reverse);

}  // namespace tributary
