// SPDX-License-Identifier: Apache-2.0
#include "export/messages/element_text.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/named_field.hpp"
#include "export/messages/sent_elements.hpp"

namespace tributary {
namespace {

constexpr auto kNone = std::numeric_limits<std::uint16_t>::max();

std::size_t write(std::string_view text, std::span<std::byte> out) noexcept {
    std::memcpy(out.data(), text.data(), text.size());
    return text.size();
}

}  // namespace

ElementText::ElementText(const std::string& name, const ExportOptions& options,
                         const MeteringProcess& metering)
    : name_(name) {
    for (std::size_t index = 0; index < metering.layouts().size(); ++index) {
        add_layout(options, metering, index);
    }
}

void ElementText::add_layout(const ExportOptions& options, const MeteringProcess& metering,
                             std::size_t index) {
    const RecordLayout layout = metering.layouts()[index];
    Layout& added = layouts_.emplace_back(Layout{.shapes = RecordShapes(layout), .sources = {}});
    if (!metering.has(index)) {
        return;
    }
    const bool is_ending = index > 0 && metering.further[index - 1].is_ending;
    for (const std::optional<TemplateField>& field :
         fields_named(name_, layout, options.timestamps,
                      element_choice(options, metering.elements_of(index)))) {
        added.sources.push_back(field ? source_of(*field, layout.groups()) : kNone);
        is_in_records_ = is_in_records_ || (field && !is_ending);
    }
}

std::uint16_t ElementText::source_of(const TemplateField& field, const FieldGroups& groups) {
    const auto is_same = [&field](const Source& source) {
        const TemplateField& other = source.made.fields.front();
        return other.from == field.from && other.encoding == field.encoding &&
               std::string_view(other.element) == field.element;
    };
    const auto known = std::ranges::find_if(sources_, is_same);
    if (known != sources_.end()) {
        return static_cast<std::uint16_t>(known - sources_.begin());
    }
    const SentElements elements(groups);
    const std::size_t most = has_length(field.encoding) ? std::size_t{1} + field.text_octets
                                                        : std::size_t{octets_of(field.encoding)};
    sources_.push_back({.made = {.id = 0, .fields = {field}},
                        .octets = octets_of(field.encoding),
                        .form = json_form(elements.of(field), field.encoding)});
    octets_.resize(std::max(octets_.size(), most));
    text_.resize(std::max(text_.size(), most_json_octets(sources_.back().form, most)));
    return static_cast<std::uint16_t>(sources_.size() - 1);
}

std::size_t ElementText::put(std::size_t layout, const std::byte* record,
                             std::span<std::byte> out) noexcept {
    const Layout& chosen = layouts_[layout];
    const std::uint16_t place = chosen.sources[chosen.shapes.index_of(record)];
    if (place == kNone) {
        return 0;
    }
    const Source& source = sources_[place];
    source.made.write(record, octets_.data());
    std::span<const std::byte> rest(octets_);
    const std::span<const std::byte> value = take_value(rest, source.octets);
    if (value.empty()) {
        return 0;
    }
    if (source.form == JsonForm::text) {
        return write({reinterpret_cast<const char*>(value.data()), value.size()}, out);
    }
    const char* const end = put_json_value(text_.data(), source.form, value);
    std::string_view text(text_.data(), static_cast<std::size_t>(end - text_.data()));
    if (text.front() == '"') {
        text = text.substr(1, text.size() - 2);
    }
    return write(text, out);
}

}  // namespace tributary
