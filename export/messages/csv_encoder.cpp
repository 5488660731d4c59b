// SPDX-License-Identifier: Apache-2.0
#include "export/messages/csv_encoder.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/reverse_elements.hpp"

namespace tributary {
namespace {

/// The number of the element under its enterprise.
std::uint16_t number_of(const SentElement& sent) noexcept {
    const FieldElement& element = *sent.element;
    if (!sent.is_reverse || element.owner == ElementOwner::iana) {
        return element.number;
    }
    return element.owner == ElementOwner::ntop
               ? element.reverse_number
               : static_cast<std::uint16_t>(element.number | kReverseBit);
}

std::uint32_t enterprise_of(const SentElement& sent) noexcept {
    switch (sent.element->owner) {
        case ElementOwner::tributary:
            return kDocumentationEnterprise;
        case ElementOwner::ntop:
            return kNtopEnterprise;
        case ElementOwner::cert:
            return kCertEnterprise;
        case ElementOwner::iana:
            break;
    }
    return sent.is_reverse ? kReverseEnterprise : 0;
}

/// What view_flow() reads of an element.
IpfixElement described(const SentElement& sent, const ListedCounts& counts) {
    const FieldElement& element = *sent.element;
    IpfixElement made{.name = {}, .enterprise = enterprise_of(sent), .number = number_of(sent)};
    const auto own = static_cast<TributaryElement>(element.number);
    if (element.owner == ElementOwner::tributary) {
        (sent.is_reverse ? made.own_reverse : made.own) = own;
    }
    if (const auto place = counts.find(element.owner, element.number)) {
        (sent.is_reverse ? made.listed_reverse : made.listed) = static_cast<std::uint8_t>(*place);
    }
    return made;
}

}  // namespace

CsvEncoder::CsvEncoder(const ExportOptions& options, const MeteringProcess& metering) {
    const std::vector<RecordLayout> layouts = metering.layouts();
    for (std::size_t index = 0; index < layouts.size(); ++index) {
        add_layout(options, metering, index, layouts[index]);
    }
}

void CsvEncoder::add_layout(const ExportOptions& options, const MeteringProcess& metering,
                            std::size_t index, const RecordLayout& layout) {
    const SentElements elements(layout.groups());
    Layout& added = layouts_.emplace_back(Layout{.shapes = RecordShapes(layout), .by_shape = {}});
    for (RecordTemplate& made : make_templates(
             layout, options.timestamps, element_choice(options, metering.elements_of(index)))) {
        Shape shape{.made = std::move(made), .read = {}};
        for (const TemplateField& field : shape.made.fields) {
            shape.read.fields.push_back(
                {.element = element_of(elements.of(field)), .length = octets_of(field.encoding)});
        }
        octets_.resize(std::max(octets_.size(), shape.made.record_octets + shape.made.text_octets));
        values_.resize(std::max(values_.size(), shape.made.fields.size()));
        added.by_shape.push_back(std::move(shape));
    }
}

const IpfixElement* CsvEncoder::element_of(const SentElement& sent) {
    IpfixElement wanted = described(sent, counts_);
    const auto found = std::ranges::find_if(elements_, [&wanted](const IpfixElement& each) {
        return each.enterprise == wanted.enterprise && each.number == wanted.number;
    });
    return found != elements_.end() ? &*found : &elements_.emplace_back(std::move(wanted));
}

std::size_t CsvEncoder::encode(std::size_t layout, const std::byte* record, std::uint64_t,
                               std::span<std::byte> out) noexcept {
    const Layout& chosen = layouts_[layout];
    const Shape& shape = chosen.by_shape[chosen.shapes.index_of(record)];
    shape.made.write(record, octets_.data());
    std::span<const std::byte> rest(octets_);
    std::size_t count = 0;
    for (const IpfixField& field : shape.read.fields) {
        values_[count++] = take_value(rest, field.length);
    }
    const FlowView flow =
        view_flow({.layout = &shape.read, .values = std::span(values_).first(count)});
    char* const begin = reinterpret_cast<char*>(out.data());
    return static_cast<std::size_t>(put_flow_csv(begin, flow, counts_) - begin);
}

}  // namespace tributary
