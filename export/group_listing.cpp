// SPDX-License-Identifier: Apache-2.0
#include "export/group_listing.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "export/flow_table.hpp"

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

std::string title_of(const GroupField& field) {
    std::string title = field.name;
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
    return title;
}

Cells table_row(const FlowGroup& group, bool reverse) {
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
    return row;
}

}  // namespace

void print_group_table(const std::vector<GroupField>& fields, const GroupRows& groups,
                       std::ostream& out) {
    const bool reverse = std::any_of(groups.begin(), groups.end(),
                                     [](const FlowGroup* group) { return group->has_reverse(); });
    constexpr std::size_t kTimes = 2;
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
    right.resize(header.size(), true);
    std::vector<Cells> rows{std::move(header)};
    for (const FlowGroup* const group : groups) {
        rows.push_back(table_row(*group, reverse));
    }
    std::vector<std::size_t> widths(kTimes + fields.size() + (reverse ? 5 : 3));
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
        const std::string_view quote = fields[index].is_number() ? "" : "\"";
        line += ",\"" + fields[index].name + "\":";
        line += quote;
        line += group.values[index];
        line += quote;
    }
    for (const GroupNumber& number : kNumbers) {
        const std::string text = number.text(group);
        line += ",\"";
        line += number.element;
        line += "\":" + (text.empty() ? "null" : text);
    }
    return line + '}';
}

std::string group_csv_header(const std::vector<GroupField>& fields) {
    std::string line;
    for (const GroupField& field : fields) {
        line += (line.empty() ? "" : ",") + field.name;
    }
    for (const GroupNumber& number : kNumbers) {
        line += ',';
        line += number.element;
    }
    return line;
}

std::string group_csv(const FlowGroup& group) {
    std::string line;
    for (const std::string& value : group.values) {
        line += (line.empty() ? "" : ",") + value;
    }
    for (const GroupNumber& number : kNumbers) {
        line += ',' + number.text(group);
    }
    return line;
}

}  // namespace tributary
