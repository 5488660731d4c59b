// SPDX-License-Identifier: Apache-2.0
#include "export/messages/sent_elements.hpp"

#include <algorithm>

#include "export/ipfix/core_elements.hpp"
#include "export/ipfix/enterprise_elements.hpp"

namespace tributary {
namespace {

std::string_view scope_of(ElementOwner owner) noexcept {
    switch (owner) {
        case ElementOwner::tributary:
            return "tributary";
        case ElementOwner::ntop:
            return "ntop";
        case ElementOwner::cert:
            return "cert";
        case ElementOwner::iana:
            break;
    }
    return "iana";
}

}  // namespace

SentElements::SentElements(const FieldGroups& groups) {
    for (const CoreElement& each : kCoreElements) {
        add(each.element);
    }
    (kEveryGroup | groups).for_each([this](FieldGroupId id) {
        std::ranges::for_each(field_group(id).elements,
                              [this](const FieldElement& element) { add(element); });
    });
}

void SentElements::add(const FieldElement& element) {
    by_name_.try_emplace(element.name, SentElement{.element = &element});
    by_name_.try_emplace(reverse_name_of(element),
                         SentElement{.element = &element, .is_reverse = true});
}

JsonForm json_form(const SentElement& sent, Encoding encoding) noexcept {
    const IpfixType type = type_of(encoding);
    return sent.element->owner == ElementOwner::iana ? json_form(type, sent.element->name)
                                                     : json_form(type);
}

std::string json_name(const SentElement& sent) {
    const FieldElement& element = *sent.element;
    const std::string_view scope = scope_of(element.owner);
    const bool has_own_name = sent.is_reverse && element.reverse_name != nullptr;
    return has_own_name ? json_name(scope, element.reverse_name, false)
                        : json_name(scope, element.name, sent.is_reverse);
}

std::string json_name(std::string_view scope, std::string_view name, bool is_reverse) {
    std::string text(scope);
    text += is_reverse && scope == "iana" ? "@reverse:" : ":";
    text += name;
    return text += is_reverse ? "@reverse" : "";
}

}  // namespace tributary
