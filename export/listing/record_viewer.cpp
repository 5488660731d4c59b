// SPDX-License-Identifier: Apache-2.0
#include "export/listing/record_viewer.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/reverse_elements.hpp"
#include "export/listing/element_condition.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

/// The number of a field's element, as a template has it.
std::pair<std::uint32_t, std::uint16_t> number_of(const SentElement& sent) noexcept {
    const FieldElement& element = *sent.element;
    const auto with_bit = static_cast<std::uint16_t>(element.number | kReverseBit);
    switch (element.owner) {
        case ElementOwner::iana:
            return {sent.is_reverse ? kReverseEnterprise : 0, element.number};
        case ElementOwner::tributary:
            return {kDocumentationEnterprise, sent.is_reverse ? with_bit : element.number};
        case ElementOwner::ntop:
            return {kNtopEnterprise, sent.is_reverse ? element.reverse_number : element.number};
        case ElementOwner::cert:
            break;
    }
    return {kCertEnterprise, sent.is_reverse ? with_bit : element.number};
}

std::uint16_t octets_in_record(const TemplateField& field) noexcept {
    return static_cast<std::uint16_t>(has_length(field.encoding) ? 1 + field.text_octets
                                                                 : octets_of(field.encoding));
}

/// The elements that a condition names, and whether it names what each packet changes.
struct NamesOf {
    std::set<std::string, std::less<>> elements;
    bool changes_with_each_packet = false;
    bool depends_on_end = false;

    void operator()(const Chain& chain) {
        for (const Chain::Link& link : chain.links) {
            std::visit(*this, link.condition.what);
        }
    }
    void operator()(const Negation& negation) { std::visit(*this, negation.operand.front().what); }
    void operator()(const FlagsCondition& /*flags*/) { elements.emplace("tcpControlBits"); }
    void operator()(const ReasonCondition& /*reason*/) { depends_on_end = true; }
    void operator()(const MeasureCondition& condition) { add(condition.measure); }
    void operator()(const SumCondition& sum) {
        for (const SumTerm& term : sum.terms) {
            if (term.measure) {
                add(*term.measure);
            } else if (!term.element.empty()) {
                elements.insert(term.element);
            }
        }
    }
    void operator()(const ElementCondition& condition) {
        elements.insert(condition.name);
        depends_on_end = depends_on_end || condition.name.ends_with("flowEndReason");
    }
    /// Of the key, or of the first packet.
    template <class Unchanging>
    void operator()(const Unchanging& /*condition*/) {}

private:
    void add(const FlowMeasure& measure) {
        const ListedCounts counts;
        for (std::size_t place = 0; place < counts.size(); ++place) {
            if (counts.at(place).element->measure == measure.name) {
                elements.emplace(counts.at(place).element->name);
                return;
            }
        }
        const bool is_of_first_packet =
            measure.name == "tos" || measure.name == "dscp" || measure.name == "interface";
        changes_with_each_packet = changes_with_each_packet || !is_of_first_packet;
    }
};

NamesOf names_in(const FlowCondition& condition) {
    NamesOf names;
    std::visit([&names](const auto& what) { names(what); }, condition.what);
    return names;
}

/// Checks that all elements that a condition names have types that go with it.
struct TypeCheck {
    std::span<const IpfixElement> elements;

    void operator()(const Chain& chain) const {
        for (const Chain::Link& link : chain.links) {
            std::visit(*this, link.condition.what);
        }
    }
    void operator()(const Negation& negation) const {
        std::visit(*this, negation.operand.front().what);
    }
    void operator()(const SumCondition& sum) const {
        for (const SumTerm& term : sum.terms) {
            check_named(term, term.element);
        }
    }
    void operator()(const ElementCondition& condition) const {
        check_named(condition, condition.name);
    }
    template <class Other>
    void operator()(const Other& /*condition*/) const {}

private:
    template <class Condition>
    void check_named(const Condition& condition, std::string_view name) const {
        for (const IpfixElement& element : elements) {
            if (!name.empty() && is_named(element, name)) {
                check(condition, element);
            }
        }
    }
};

/// An element as a check needs it.
IpfixElement element_of(const FieldElement& element) {
    return {.name = element.name, .number = element.number, .type = type_of(element.encoding)};
}

}  // namespace

RecordViewer::RecordViewer(const RecordLayout& layout, const TableElements& elements,
                           TimestampUnit timestamps, std::span<const FieldElement> further)
    : shapes_(layout),
      sent_(layout.groups()),
      names_(std::make_shared<ElementRegistry>(layout.added)) {
    std::size_t most_octets = 0;
    std::size_t most_fields = 0;
    ElementChoice choice;
    choice.table = elements;
    for (RecordTemplate& made : make_templates(layout, timestamps, choice)) {
        Shape shape;
        shape.made = std::move(made);
        shape.layout.minimum_bytes = 1;
        for (const TemplateField& field : shape.made.fields) {
            const auto [enterprise, number] = number_of(sent_.of(field));
            shape.layout.fields.push_back(
                {.element = names_.find(enterprise, number), .length = octets_of(field.encoding)});
        }
        most_octets = std::max(most_octets, shape.made.record_octets + shape.made.text_octets);
        most_fields = std::max(most_fields, shape.made.fields.size());
        by_shape_.push_back(std::move(shape));
    }
    octets_.resize(most_octets);
    values_.resize(most_fields);
    std::set<const IpfixElement*> found;
    for (const Shape& shape : by_shape_) {
        add_elements(shape, found);
    }
    for (const FieldElement& element : further) {
        elements_.push_back(element_of(element));
    }
}

/// @param found  those of the shapes before, to which those of this one are added
void RecordViewer::add_elements(const Shape& shape, std::set<const IpfixElement*>& found) {
    for (const IpfixField& field : shape.layout.fields) {
        if (found.insert(field.element).second) {
            elements_.push_back(*field.element);
        }
    }
}

void RecordViewer::check(const FlowFilter& filter) const {
    for (const FlowFilter::NamedElement& named : filter.elements()) {
        const auto is_it = [&named](const IpfixElement& element) {
            return is_named(element, named.name);
        };
        if (std::ranges::none_of(elements_, is_it)) {
            throw FilterError("filter, column " + std::to_string(named.column) + ": '" +
                              printable(named.name) +
                              "' is no word of filters, and no element that the table's records "
                              "have");
        }
    }
    std::visit(TypeCheck{elements_}, filter.condition().what);
}

bool depends_on_end(const FlowCondition& condition) {
    const NamesOf names = names_in(condition);
    return names.depends_on_end;
}

std::optional<std::vector<RecordPlace>> RecordViewer::changing_places(
    const FlowCondition& condition) const {
    const NamesOf names = names_in(condition);
    if (names.changes_with_each_packet) {
        return std::nullopt;
    }
    std::set<RecordPlace> places;
    for (const Shape& shape : by_shape_) {
        add_places(shape, names.elements, places);
    }
    return std::vector(places.begin(), places.end());
}

/// Adds the places of a shape's fields that have one of these names.
void RecordViewer::add_places(const Shape& shape, const std::set<std::string, std::less<>>& names,
                              std::set<RecordPlace>& places) const {
    for (std::size_t index = 0; index < shape.made.fields.size(); ++index) {
        const TemplateField& field = shape.made.fields[index];
        const IpfixElement& element = *shape.layout.fields[index].element;
        // Of a count both directions.
        const bool is_meant = names.contains(sent_.of(field).element->name) ||
                              std::ranges::any_of(names, [&element](const auto& name) {
                                  return is_named(element, name);
                              });
        if (is_meant) {
            places.insert({field.from, octets_in_record(field)});
        }
    }
}

RecordViewer::View RecordViewer::view(const std::byte* record) noexcept {
    const Shape& shape = by_shape_[shapes_.index_of(record)];
    shape.made.write(record, octets_.data());
    std::span<const std::byte> rest = octets_;
    const std::size_t count = shape.layout.fields.size();
    for (std::size_t index = 0; index < count; ++index) {
        values_[index] = take_value(rest, shape.layout.fields[index].length);
    }
    record_.layout = &shape.layout;
    record_.values = std::span(values_).first(count);
    return {.flow = view_flow(record_), .record = record_};
}

}  // namespace tributary
