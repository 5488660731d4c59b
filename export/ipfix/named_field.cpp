// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/named_field.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include "export/ipfix/core_elements.hpp"
#include "export/ipfix/record_shape.hpp"
#include "flowcache/fields/field_groups.hpp"

namespace tributary {
namespace {

bool has_name(const TemplateField& field, std::string_view name) {
    return name == field.element || name == name_of_both(field.element);
}

}  // namespace

std::string name_of_both(std::string_view element) {
    for (const std::string_view version : {"IPv4Address", "IPv6Address"}) {
        if (element.ends_with(version)) {
            element.remove_suffix(version.size());
            return std::string(element) + "IPAddress";
        }
    }
    return {};
}

std::vector<std::string> field_names() {
    std::set<std::string> names;
    const auto add = [&names](const FieldElement& element) {
        names.emplace(element.name);
        names.insert(name_of_both(element.name));
    };
    for (const CoreElement& each : kCoreElements) {
        add(each.element);
    }
    lasting_groups().for_each(
        [&add](FieldGroupId id) { std::ranges::for_each(field_group(id).elements, add); });
    names.erase("");
    return {names.begin(), names.end()};
}

std::vector<std::optional<TemplateField>> fields_named(std::string_view name,
                                                       const RecordLayout& layout,
                                                       TimestampUnit timestamps,
                                                       const ElementChoice& choice) {
    std::vector<std::optional<TemplateField>> by_shape;
    const RecordShapes shapes(layout);
    for (std::size_t index = 0; index < shapes.count(); ++index) {
        const RecordShape shape = shapes.at(index);
        if (shape.vlan && !choice.table.key.vlan) {  // no record has it
            by_shape.emplace_back();
            continue;
        }
        const std::vector<TemplateField> fields = fields_of(shape, layout, timestamps, choice);
        const auto found = std::ranges::find_if(
            fields, [name](const TemplateField& field) { return has_name(field, name); });
        by_shape.push_back(found == fields.end() ? std::nullopt : std::optional(*found));
    }
    return by_shape;
}

}  // namespace tributary
