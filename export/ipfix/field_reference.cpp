// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/field_reference.hpp"

#include "export/ipfix/enterprise_elements.hpp"
#include "flowcache/fields/field_groups.hpp"

namespace tributary {
namespace {

std::string octets_text(const FieldElement& element) {
    return has_length(element.encoding) ? "at most " + std::to_string(element.text_octets)
                                        : std::to_string(octets_of(element.encoding));
}

/// The elements of one owner; empty if there are none.
std::string table_of(const FieldGroup& group, ElementOwner owner) {
    const bool is_own = owner == ElementOwner::tributary;
    std::string rows;
    for (const FieldElement& element : group.elements) {
        if (element.owner == owner) {
            rows +=
                std::string("| `") + element.name + "` | " + std::to_string(element.number) +
                " | " +
                (is_own ? std::string(name_of(type_of(element.encoding))) : octets_text(element)) +
                " | " + element.meaning + " |\n";
        }
    }
    const char* const head = is_own ? "| element | enterprise's number | type | what it says |\n"
                                    : "| element | number | octets | what it says |\n";
    return rows.empty() ? rows : head + ("|---|---|---|---|\n" + rows);
}

std::string tables_of(const FieldGroup& group) {
    const std::string own = table_of(group, ElementOwner::tributary);
    const std::string ianas = table_of(group, ElementOwner::iana);
    return own + (own.empty() || ianas.empty() ? "" : "\n") + ianas;
}

std::string heading_of(const FieldGroup& group) {
    return "## Group `" + std::string(group.name) + "`\n";
}

/// The end of the line at `at`, and of its line break.
std::size_t behind_line(std::string_view page, std::size_t at) {
    const std::size_t end = page.find('\n', at);
    return end == std::string_view::npos ? page.size() : end + 1;
}

/// Where the tables of a section begin and end, without blank lines around them.
struct Tables {
    std::size_t begin{};
    std::size_t end{};
};

/// @param at  behind the section's heading
Tables find_tables(std::string_view page, std::size_t at) {
    while (at < page.size() && page[at] != '|' && page[at] != '#') {
        at = behind_line(page, at);
    }
    Tables tables{at, at};
    for (; at < page.size() && (page[at] == '|' || page[at] == '\n'); at = behind_line(page, at)) {
        tables.end = page[at] == '|' ? behind_line(page, at) : tables.end;
    }
    return tables;
}

}  // namespace

std::string field_reference(std::string_view page) {
    std::string made(page);
    lasting_groups().for_each([&made](FieldGroupId id) {
        const FieldGroup& group = field_group(id);
        const std::string heading = heading_of(group);
        const std::size_t section = made.find(heading);
        if (section != std::string::npos) {
            const Tables tables = find_tables(made, section + heading.size());
            made.replace(tables.begin, tables.end - tables.begin, tables_of(group));
        } else {
            const std::size_t next = made.find("## Templates\n");
            made.insert(next == std::string::npos ? made.size() : next,
                        heading + '\n' + tables_of(group) + '\n');
        }
    });
    return made;
}

}  // namespace tributary
