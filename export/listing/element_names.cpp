// SPDX-License-Identifier: Apache-2.0
#include "export/listing/element_names.hpp"

#include <fixbuf/public.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "export/ipfix/core_elements.hpp"
#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/fixbuf_memory.hpp"
#include "export/ipfix/reverse_elements.hpp"
#include "export/listing/printable_text.hpp"
#include "export/options.hpp"

namespace tributary {
namespace {

constexpr std::uint16_t kElementMask = 0x7FFF;

IpfixType to_type(std::uint64_t number) {
    return number < static_cast<std::uint64_t>(IpfixType::count) ? static_cast<IpfixType>(number)
                                                                 : IpfixType::octet_array;
}

bool is_reverse(std::uint16_t number) noexcept { return (number & kReverseBit) != 0; }

std::string name_of(const FieldElement& element, std::uint16_t number) {
    return is_reverse(number) ? reverse_name_of(element) : element.name;
}

/// @param element  its name, with the number of its enterprise in front if it is described
bool is_meant_by(std::string_view element, std::string_view name) noexcept {
    if (element == name) {
        return true;
    }
    const std::size_t slash = element.find('/');
    return slash != std::string_view::npos && element.substr(slash + 1) == name;
}

std::string number_name(const IpfixElement& element) {
    return "e" + std::to_string(element.enterprise) + "id" + std::to_string(element.number);
}

}  // namespace

/// A record's description of an element.
struct ElementNames::Description {
    std::uint32_t enterprise{};
    std::optional<std::uint16_t> number;
    IpfixType type{};
    std::string_view name;
};

struct ElementRegistry::Model {
    struct Free {
        void operator()(fbInfoModel_t* model) const noexcept { fbInfoModelFree(model); }
    };
    Model() {
        check_memory_for_fixbuf(kFixbufOctets);
        elements.reset(fbInfoModelAlloc());
    }

    std::unique_ptr<fbInfoModel_t, Free> elements;

    [[nodiscard]] const fbInfoElement_t* find(std::uint32_t enterprise,
                                              std::uint16_t number) const {
        return fbInfoModelGetElementByID(elements.get(), number, enterprise);
    }
};

ElementRegistry::ElementRegistry(const FieldGroups& tables)
    : groups_(lasting_groups() | tables), model_(std::make_unique<Model>()) {}

ElementRegistry::~ElementRegistry() = default;

std::optional<EnterpriseElement> ElementRegistry::own(std::uint32_t enterprise,
                                                      std::uint16_t number) const noexcept {
    return enterprise != 0 ? own_element(static_cast<std::uint16_t>(number & ~kReverseBit), groups_)
                           : std::nullopt;
}

/// The name of the element of ntop's with this number; nullptr: there is none here.
const char* ElementRegistry::ntop_name(std::uint16_t number) const {
    for (const EnterpriseElement& ntops : enterprise_elements(ElementOwner::ntop, groups_)) {
        if (ntops.element->number == number) {
            return ntops.element->name;
        }
        if (ntops.element->reverse_number == number) {
            return ntops.element->reverse_name;
        }
    }
    return nullptr;
}

std::optional<ElementRegistry::Entry> ElementRegistry::find(std::uint32_t enterprise,
                                                            std::uint16_t number) const {
    const fbInfoElement_t* known = model_->find(enterprise, number);
    if (known != nullptr) {
        return Entry{known->ref.name, to_type(known->type)};
    }
    if (enterprise == kNtopEnterprise) {
        if (const char* const name = ntop_name(number)) {
            return Entry{name, IpfixType::unsigned32};
        }
    }
    if (enterprise == kCertEnterprise && (number & ~kReverseBit) == kCertElement.number) {
        return Entry{name_of(kCertElement, number), IpfixType::unsigned8};
    }
    const auto own = this->own(enterprise, number);
    if (enterprise == kDocumentationEnterprise && own) {
        return Entry{name_of(*own->element, number), own->type};
    }
    return std::nullopt;
}

bool ElementRegistry::has(std::string_view name) const {
    const auto is_its = [name](const FieldElement& element) {
        return name == element.name || name == reverse_name_of(element);
    };
    const auto is_one_of = [&](ElementOwner owner) {
        return std::ranges::any_of(
            enterprise_elements(owner, groups_),
            [&is_its](const EnterpriseElement& each) { return is_its(*each.element); });
    };
    return fbInfoModelGetElementByName(model_->elements.get(), std::string(name).c_str()) !=
               nullptr ||
           is_one_of(ElementOwner::tributary) || is_one_of(ElementOwner::ntop) ||
           is_its(kCertElement);
}

bool ElementRegistry::is_fixed(std::uint32_t enterprise, std::uint16_t number) const {
    return enterprise == 0 || model_->find(enterprise, number) != nullptr;
}

bool is_named(const IpfixElement& element, std::string_view name) noexcept {
    return is_meant_by(element.name, name);
}

bool ElementNames::has(std::string_view name) const {
    return std::ranges::any_of(taken_,
                               [name](const std::string& each) { return is_meant_by(each, name); });
}

const IpfixElement* ElementNames::find(std::uint32_t enterprise, std::uint16_t number) {
    return element({enterprise, number});
}

/// @return  nullptr: it is not registered, and there are kMostElements others
IpfixElement* ElementNames::element(Key key) {
    const auto found = elements_.find(key);
    if (found != elements_.end()) {
        return &found->second;
    }
    const auto entry = registry_->find(key.first, key.second);
    if (!entry && unregistered_ >= kMostElements) {
        return nullptr;
    }
    unregistered_ += entry ? 0 : 1;
    IpfixElement& made = elements_[key];
    made.enterprise = key.first;
    made.number = key.second;
    if (entry) {
        made.type = entry->type;
        made.is_padding = entry->name == "paddingOctets";
        give_meaning(made, entry->name);
    }
    if (!entry || !rename(made, entry->name)) {
        static_cast<void>(rename(made, number_name(made)));
    }
    return &made;
}

/// @return  false: the name is another element's, and this one keeps its own
bool ElementNames::rename(IpfixElement& element, const std::string& name) {
    if (element.name == name) {
        return true;
    }
    if (!taken_.insert(name).second) {
        return false;
    }
    taken_.erase(element.name);
    element.name = name;
    return true;
}

/// @param is_own  it is one of tributary's by number and name
void ElementNames::set_places(IpfixElement& element, bool is_own) const {
    const auto find = [this](ElementOwner owner, std::uint16_t number) {
        const auto place = counts_.find(owner, number);
        return place ? std::optional(static_cast<std::uint8_t>(*place)) : std::nullopt;
    };
    element.listed.reset();
    element.listed_reverse.reset();
    if (element.enterprise == 0) {
        element.listed = find(ElementOwner::iana, element.number);
    } else if (element.enterprise == kReverseEnterprise) {
        element.listed_reverse = find(ElementOwner::iana, element.number);
    } else if (is_own && is_reverse(element.number)) {
        element.listed_reverse = find(ElementOwner::tributary,
                                      static_cast<std::uint16_t>(element.number & ~kReverseBit));
    } else if (is_own) {
        element.listed = find(ElementOwner::tributary, element.number);
    }
}

/// An element of tributary's has its meaning by its described name, also where that is already used
/// for the same element of another enterprise.
void ElementNames::give_meaning(IpfixElement& element, std::string_view description) const {
    const auto own = registry_->own(element.enterprise, element.number);
    const bool is_own = own && name_of(*own->element, element.number) == description;
    const TributaryElement number =
        is_own ? static_cast<TributaryElement>(own->element->number) : TributaryElement::none;
    element.own = is_reverse(element.number) ? TributaryElement::none : number;
    element.own_reverse = is_reverse(element.number) ? number : TributaryElement::none;
    set_places(element, is_own);
}

void ElementNames::learn(const IpfixRecord& record) {
    Description description;
    for (std::size_t index = 0; index < record.values.size(); ++index) {
        const IpfixElement& field = *record.layout->fields[index].element;
        const std::span<const std::byte> value = record.values[index];
        if (field.enterprise != 0) {
            continue;
        }
        if (field.number == 303) {  // informationElementId
            description.number = static_cast<std::uint16_t>(read_unsigned(value) & kElementMask);
        } else if (field.number == 339) {  // informationElementDataType
            description.type = to_type(read_unsigned(value));
        } else if (field.number == 341) {  // informationElementName
            description.name = {reinterpret_cast<const char*>(value.data()), value.size()};
        } else if (field.number == 346) {  // privateEnterpriseNumber
            description.enterprise = static_cast<std::uint32_t>(read_unsigned(value));
        }
    }
    // An exporter may not redefine what IANA has registered.
    if (description.number && !description.name.empty() &&
        !registry_->is_fixed(description.enterprise, *description.number)) {
        describe(description);
    }
}

void ElementNames::describe(const Description& description) {
    const std::uint16_t number = description.number.value_or(0);  // there is one
    const Key key{description.enterprise, number};
    const std::string name = printable(description.name.substr(0, kLongestName + 1));
    IpfixElement* const element = name.size() <= kLongestName ? this->element(key) : nullptr;
    if (element == nullptr) {
        ++refused_names_;
        return;
    }
    const auto own = registry_->own(description.enterprise, number);
    const auto entry = registry_->find(key.first, key.second);
    const bool is_known =
        (own && name == name_of(*own->element, number)) || (entry && name == entry->name);
    if ((is_known && rename(*element, name)) ||
        rename(*element, std::to_string(description.enterprise) + '/' + name)) {
        element->type = description.type;
        give_meaning(*element, name);
        return;
    }
    ++refused_names_;
}

}  // namespace tributary
