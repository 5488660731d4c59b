// SPDX-License-Identifier: Apache-2.0
#include "export/listing/group_listing.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/listing/flow_table.hpp"

namespace tributary {
namespace {

using Cells = std::vector<std::string>;

/// A number of a group behind its fields; every one is a row here.
struct GroupNumber {
    std::string_view element;  ///< in JSON and CSV
    std::string (*text)(const FlowGroup& group);
};

/// Empty when no flow of the group has times.
std::string milliseconds_text(const FlowGroup& group, Timestamp time) {
    const auto since_1970 =
        std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
    return group.is_timed() ? std::to_string(since_1970) : std::string();
}

std::string sum_text(const std::optional<WideCount>& sum) {
    return sum ? count_text(*sum) : std::string();
}

using Group = const FlowGroup&;

constexpr std::array kNumbers{
    GroupNumber{"deltaFlowCount", [](Group group) { return std::to_string(group.flows); }},
    GroupNumber{"packetDeltaCount", [](Group group) { return count_text(group.packets); }},
    GroupNumber{"octetDeltaCount", [](Group group) { return count_text(group.octets); }},
    GroupNumber{"reversePacketDeltaCount",
                [](Group group) { return count_text(group.reverse_packets); }},
    GroupNumber{"reverseOctetDeltaCount",
                [](Group group) { return count_text(group.reverse_octets); }},
    GroupNumber{"flowStartMilliseconds",
                [](Group group) { return milliseconds_text(group, group.start); }},
    GroupNumber{"flowEndMilliseconds",
                [](Group group) { return milliseconds_text(group, group.end); }},
};

/// Whether some flow of the group has one of the counts that belong together.
bool has_one_of(const FlowGroup& group, const ListedCounts& listed, std::size_t measured_by) {
    for (std::size_t place = 0; place < listed.size(); ++place) {
        if (listed.at(place).measured_by == measured_by && group.count(place)) {
            return true;
        }
    }
    return false;
}

/// Empty when the group does not have it.
template <class Visit>
void for_each_number(const FlowGroup& group, Visit visit) {
    for (const GroupNumber& number : kNumbers) {
        visit(number.element, number.text(group));
    }
    const ListedCounts counts;
    for (std::size_t place = 0; place < counts.size(); ++place) {
        visit(counts.at(place).element->name, sum_text(group.counts.at(place)));
    }
    for (std::size_t place = 0; place < counts.size(); ++place) {
        visit(reverse_name_of(*counts.at(place).element), sum_text(group.reverse_counts.at(place)));
    }
}

/// The places of the counts that the table has a column for: if some flow has a count of a field
/// group, all counts of that group.
std::vector<std::size_t> shown_counts(const ListedCounts& listed, const GroupRows& groups) {
    std::vector<std::size_t> shown;
    for (std::size_t place = 0; place < listed.size(); ++place) {
        const bool is_there =
            std::any_of(groups.begin(), groups.end(), [&](const FlowGroup* group) {
                return has_one_of(*group, listed, listed.at(place).measured_by);
            });
        if (is_there) {
            shown.push_back(place);
        }
    }
    return shown;
}

std::string title_of(const GroupField& field) {
    std::string title = field.name;
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
    return title;
}

Cells table_row(const FlowGroup& group, bool reverse, const std::vector<std::size_t>& counts) {
    Cells row{group.is_timed() ? time_text(group.start) : "-",
              group.is_timed() ? seconds_text(group.end - group.start) : "-"};
    row.insert(row.end(), group.values.begin(), group.values.end());
    row.push_back(std::to_string(group.flows));
    row.push_back(count_text(group.packets));
    row.push_back(count_text(group.octets));
    if (reverse) {
        row.push_back(count_text(group.reverse_packets));
        row.push_back(count_text(group.reverse_octets));
    }
    for (const std::size_t place : counts) {
        const std::optional<WideCount> sum = group.count(place);
        row.push_back(sum ? count_text(*sum) : "-");
    }
    return row;
}

}  // namespace

void print_group_table(const std::vector<GroupField>& fields, const GroupRows& groups,
                       std::ostream& out) {
    const bool reverse = std::any_of(groups.begin(), groups.end(),
                                     [](const FlowGroup* group) { return group->has_reverse(); });
    const ListedCounts listed;
    const std::vector<std::size_t> counts = shown_counts(listed, groups);
    Cells header{"Start", "Duration"};
    std::vector<bool> right{false, true};
    for (const GroupField& field : fields) {
        header.push_back(title_of(field));
        right.push_back(field.is_number());
    }
    header.insert(header.end(), {"Flows", "Packets", "Octets"});
    if (reverse) {
        header.insert(header.end(), {"RevPackets", "RevOctets"});
    }
    for (const std::size_t place : counts) {
        header.emplace_back(listed.at(place).element->column);
    }
    right.resize(header.size(), true);
    std::vector<std::size_t> widths(header.size());
    std::vector<Cells> rows{std::move(header)};
    for (const FlowGroup* const group : groups) {
        rows.push_back(table_row(*group, reverse, counts));
    }
    for (const Cells& row : rows) {
        for (std::size_t column = 0; column < widths.size(); ++column) {
            widths[column] = std::max(widths[column], row[column].size());
        }
    }
    for (const Cells& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < widths.size(); ++column) {
            const std::string padding(widths[column] - row[column].size(), ' ');
            line += column == 0 ? "" : "  ";
            line += right[column] ? padding + row[column] : row[column] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << '\n';
    }
}

std::string group_json(const std::vector<GroupField>& fields, const FlowGroup& group) {
    std::string line = R"({"@type":"group")";
    for (std::size_t index = 0; index < fields.size(); ++index) {
        const bool is_number = fields[index].is_number();
        const bool is_unknown = is_number && group.values[index] == GroupField::kUnknown;
        const std::string_view quote = is_number ? "" : "\"";
        line += ",\"" + fields[index].name + "\":";
        line += quote;
        line += is_unknown ? "null" : group.values[index];
        line += quote;
    }
    for_each_number(group, [&line](std::string_view element, const std::string& text) {
        line += ",\"";
        line += element;
        line += "\":" + (text.empty() ? "null" : text);
    });
    return line + '}';
}

std::string group_csv_header(const std::vector<GroupField>& fields) {
    std::string line;
    for (const GroupField& field : fields) {
        line += (line.empty() ? "" : ",") + field.name;
    }
    for_each_number({}, [&line](std::string_view element, const std::string& /*text*/) {
        line += ',';
        line += element;
    });
    return line;
}

std::string group_csv(const std::vector<GroupField>& fields, const FlowGroup& group) {
    std::string line;
    for (std::size_t index = 0; index < fields.size(); ++index) {
        const bool is_unknown =
            fields[index].is_number() && group.values[index] == GroupField::kUnknown;
        line += index == 0 ? "" : ",";
        line += is_unknown ? "" : group.values[index];
    }
    for_each_number(group, [&line](std::string_view /*element*/, const std::string& text) {
        line += ',' + text;
    });
    return line;
}

}  // namespace tributary
