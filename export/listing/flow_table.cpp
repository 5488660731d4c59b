// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_table.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "export/messages/flow_words.hpp"
#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

/// @param tail  port or type.code, written behind the address and a separator; empty: neither
std::string endpoint_text(const IpAddress& address, const FlowAddress& kind, std::uint8_t version,
                          const std::string& tail) {
    if (kind.is_known && version == 0) {
        return "-";
    }
    const std::string text = kind.is_known ? flow_address_text(address, kind, version) : "";
    if (tail.empty()) {
        return text.empty() ? "-" : text;
    }
    const bool has_brackets = version == 6 || kind.is_prefix;
    return (has_brackets && !text.empty() ? '[' + text + ']' : text) + ':' + tail;  // RFC 5952 §6
}

/// For instance "VXLAN 42 192.0.2.1 > 192.0.2.2".
std::string tunnel_text(const FlowView& flow) {
    const TunnelGroup& tunnel = flow.tunnel;
    if (tunnel.kind == TunnelKind::none) {
        return "-";
    }
    std::string text = tunnel_kind_text(tunnel.kind);
    const bool may_lack_id = tunnel.kind == TunnelKind::ip_in_ip || tunnel.kind == TunnelKind::gre;
    if (tunnel.id != 0 || !may_lack_id) {
        text += ' ' + std::to_string(tunnel.id);
    }
    if (tunnel.ip_version == 0) {
        return text;
    }
    const auto outer = [&tunnel](const IpAddress& address, const FlowAddress& kind) {
        return kind.is_known ? flow_address_text(address, kind, tunnel.ip_version)
                             : std::string("-");
    };
    return text + ' ' + outer(tunnel.source, flow.outer_source) + " > " +
           outer(tunnel.destination, flow.outer_destination);
}

/// A count of one direction; "-" where the record does not have it, or it was not measured.
std::string listed_count_text(const ListedValues& values, const ListedCounts& counts,
                              std::size_t place) {
    const std::size_t by = counts.at(place).measured_by;
    const bool is_measured = by == place || values.at(by) != 0U;
    const std::optional<std::uint64_t>& value = values.at(place);
    return value && is_measured ? std::to_string(*value) : "-";
}

/// For instance "3", or of both directions "3/0".
std::string listed_count_text(const FlowView& flow, const ListedCounts& counts, std::size_t place) {
    std::string forward = listed_count_text(flow.counts, counts, place);
    if (!flow.has_reverse() || !flow.reverse_counts.at(place)) {
        return forward;
    }
    return forward + '/' + listed_count_text(flow.reverse_counts, counts, place);
}

/// @param right  whether the text ends where the column does
void append_cell(std::string& line, std::string_view text, std::size_t width, bool right) {
    const std::string padding(width - text.size(), ' ');
    line += line.empty() ? "" : "  ";
    line += right ? padding : "";
    line += text;
    line += right ? "" : padding;
}

}  // namespace

std::string source_text(const FlowView& flow) {
    const std::optional<std::uint16_t> port = flow.source_port();
    return endpoint_text(flow.core.key.source, flow.source, flow.core.key.ip_version,
                         port ? std::to_string(*port) : std::string());
}

std::string destination_text(const FlowView& flow) {
    const FlowKey& key = flow.core.key;
    const std::optional<std::uint16_t> port = flow.destination_port();
    std::string tail = port ? std::to_string(*port) : std::string();
    if (flow.has_protocol && is_icmp(key) && flow.has_destination_port) {
        const unsigned type_code = key.destination_port.value;
        tail = std::to_string(type_code / 256) + '.' + std::to_string(type_code % 256);
    }
    return endpoint_text(key.destination, flow.destination, key.ip_version, tail);
}

std::string time_text(Timestamp time) {
    if (time == Timestamp{}) {
        return "-";
    }
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
    const auto milliseconds =
        std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch() - seconds);
    const std::time_t calendar = seconds.count();
    std::tm utc{};
    gmtime_r(&calendar, &utc);
    std::array<char, 80> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                  utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                  utc.tm_sec, static_cast<int>(milliseconds.count()));
    return text.data();
}

std::string seconds_text(std::chrono::nanoseconds duration) {
    const std::int64_t milliseconds =
        std::chrono::floor<std::chrono::milliseconds>(duration).count();
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%" PRId64 ".%03d", milliseconds / 1000,
                  static_cast<int>(milliseconds % 1000));
    return text.data();
}

std::string count_text(WideCount count) {
    std::string digits;
    do {
        digits += static_cast<char>('0' + static_cast<int>(count % 10));
        count /= 10;
    } while (count != 0);
    return {digits.rbegin(), digits.rend()};
}

void FlowTable::add(const ListedFlow& listed) {
    Row row = to_row(listed.flow);
    row.cells[table] = listed.table.empty() ? "-" : listed.table;
    unused_[table] = unused_[table] && listed.table.empty();
    use(listed.flow);
    add_further(listed.further, row);
    rows_.push_back(std::move(row));
    has_rows_ = true;
    if (rows_.size() >= rows_per_block_) {
        flush();
    }
}

/// Notes the columns that a flow needs.
void FlowTable::use(const FlowView& flow) {
    const auto use_if = [this](bool is_there, std::size_t column) {
        unused_[column] = unused_[column] && !is_there;
    };
    // A flow without addresses has IP version 0, and is shown as one whose addresses are missing.
    use_if(flow.has_protocol, protocol);
    use_if(flow.source.is_known || flow.source_port(), source);
    use_if(flow.destination.is_known || flow.destination_port(), destination);
    use_if(flow.has_flags, flags);
    use_if(flow.has_class_of_service, tos);
    use_if(flow.core.key.vlan.value != 0, vlan);
    use_if(flow.tunnel.kind != TunnelKind::none, tunnel);
    for (std::size_t place = 0; place < counts_.size(); ++place) {
        const bool is_there = flow.counts.at(place) || flow.reverse_counts.at(place);
        use_if(is_there && counts_.has_column(place), first_count + place);
    }
    unused_ &= flow.has_reverse() ? ~kReverseColumns : ~std::bitset<columns>();
}

void FlowTable::add_further(const std::vector<FurtherValue>& values, Row& row) {
    for (const FurtherValue& value : values) {
        const std::optional<std::size_t> place = place_of(value);
        if (!place) {
            continue;
        }
        Further& column = further_[*place];
        column.is_number = column.is_number && value.is_number;
        row.further.resize(std::max(row.further.size(), *place + 1));
        std::string& cell = row.further[*place];
        cell += (cell.empty() ? "" : ",") + value.text;
    }
}

/// The column of a further value, which is new if it has to be. Nothing: there are kMostFurther
/// others.
std::optional<std::size_t> FlowTable::place_of(const FurtherValue& value) {
    const auto found = std::ranges::find(further_, value.name, &Further::title);
    const auto place = static_cast<std::size_t>(found - further_.begin());
    if (found == further_.end() && further_.size() == kMostFurther) {
        return std::nullopt;
    }
    if (found == further_.end()) {
        further_.push_back({.title = value.name, .width = value.name.size(), .is_number = true});
    }
    return place;
}

void FlowTable::widen(const Row& row) {
    for (std::size_t column = 0; column < columns; ++column) {
        widths_[column] = std::max(widths_[column], row.cells[column].size());
    }
    for (std::size_t place = 0; place < row.further.size(); ++place) {
        further_[place].width = std::max(further_[place].width, row.further[place].size());
    }
}

void FlowTable::print_header() {
    Row header;
    for (std::size_t column = 0; column < columns; ++column) {
        header.cells[column] = title_of(column);
    }
    for (const Further& each : further_) {
        header.further.push_back(each.title);
    }
    widen(header);
    print(header);
    hidden_in_header_ = hidden_;
    further_in_header_ = further_.size();
}

void FlowTable::flush() {
    for (const Row& row : rows_) {
        widen(row);
    }
    hidden_ = has_rows_ ? unused_ : unused_ & ~kUsualColumns;
    if (hidden_in_header_ != hidden_ || further_in_header_ != further_.size()) {
        print_header();
    }
    for (const Row& row : rows_) {
        print(row);
    }
    rows_.clear();
}

const char* FlowTable::title_of(std::size_t column) const {
    static constexpr std::array<const char*, first_count> kFirst{
        "Table", "Start",  "Duration", "Proto", "Source",  "Destination",
        "VLAN",  "Tunnel", "Flags",    "ToS",   "Packets", "Octets"};
    static constexpr std::array kLast{"RevFlags", "RevPackets", "RevOctets", "End"};
    if (column < first_count) {
        return kFirst.at(column);
    }
    if (column >= reverse_flags) {
        return kLast.at(column - reverse_flags);
    }
    const std::size_t place = column - first_count;
    return place < counts_.size() ? counts_.at(place).element->column : "";
}

FlowTable::Row FlowTable::to_row(const FlowView& view) const {
    const FlowRecordCore& flow = view.core;
    const std::uint16_t reverse_bits = view.reverse.tcp_control_bits;
    const std::optional<std::uint16_t> tcp_flags = view.tcp_flags();
    const auto flags_of = [&tcp_flags](std::uint16_t bits) {
        return tcp_flags ? tcp_flags_text(ip_protocol::kTcp, bits) : "-";
    };
    Row made;
    std::array<std::string, columns>& row = made.cells;
    row[start] = time_text(view.start());
    row[duration] = view.is_timed() ? seconds_text(view.end() - view.start()) : "-";
    row[protocol] = view.has_protocol ? protocol_text(flow.key.protocol) : "-";
    row[source] = source_text(view);
    row[destination] = destination_text(view);
    row[vlan] = flow.key.vlan.value != 0 ? std::to_string(flow.key.vlan.value) : "-";
    row[tunnel] = tunnel_text(view);
    row[flags] = flags_of(flow.tcp_control_bits);
    row[tos] = view.has_class_of_service ? std::to_string(flow.ip_class_of_service) : "-";
    row[packets] = std::to_string(flow.packets);
    row[octets] = std::to_string(flow.octets);
    for (std::size_t place = 0; place < counts_.size(); ++place) {
        row[first_count + place] = listed_count_text(view, counts_, place);
    }
    row[reverse_flags] = view.has_reverse() ? flags_of(reverse_bits) : "-";
    row[reverse_packets] = std::to_string(view.reverse.packets);
    row[reverse_octets] = std::to_string(view.reverse.octets);
    row[end_reason] = end_reason_text(flow.end_reason);
    return made;
}

void FlowTable::print(const Row& row) {
    std::string line;
    append_cells(line, row, 0, end_reason);
    append_further(line, row);
    append_cells(line, row, end_reason, columns);
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
}

void FlowTable::append_cells(std::string& line, const Row& row, std::size_t first,
                             std::size_t end) const {
    static constexpr std::bitset<columns> kNumbers = 1U << duration | 1U << vlan | 1U << tos |
                                                     1U << packets | 1U << octets |
                                                     1U << reverse_packets | 1U << reverse_octets;
    for (std::size_t column = first; column < end; ++column) {
        if (!hidden_[column]) {
            append_cell(line, row.cells[column], widths_[column],
                        (kCountColumns | kNumbers)[column]);
        }
    }
}

void FlowTable::append_further(std::string& line, const Row& row) const {
    for (std::size_t place = 0; place < further_.size(); ++place) {
        const bool is_there = place < row.further.size() && !row.further[place].empty();
        append_cell(line, is_there ? std::string_view(row.further[place]) : "-",
                    further_[place].width, further_[place].is_number);
    }
}

}  // namespace tributary
