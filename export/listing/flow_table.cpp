// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_table.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <span>

#include "export/messages/flow_words.hpp"
#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

/// @param tail  port or type.code, written behind the address and a separator; empty: neither
std::string endpoint_text(const FlowKey& key, const IpAddress& address, const std::string& tail) {
    if (key.ip_version == 0) {
        return "-";
    }
    std::string text =
        address_text(std::span<const std::byte>(address).first(key.ip_version == 4 ? 4 : 16));
    if (tail.empty()) {
        return text;
    }
    return (key.ip_version == 6 ? '[' + text + ']' : text) + ':' + tail;  // RFC 5952 §6
}

/// For instance "VXLAN 42 192.0.2.1 > 192.0.2.2".
std::string tunnel_text(const TunnelGroup& tunnel) {
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
    const std::size_t octets = tunnel.ip_version == 4 ? 4 : 16;
    return text + ' ' + address_text(std::span(tunnel.source).first(octets)) + " > " +
           address_text(std::span(tunnel.destination).first(octets));
}

/// A count of one direction; "-" where the record does not have it, or it was not measured.
std::string count_text(const ListedValues& values, const ListedCounts& counts, std::size_t place) {
    const std::size_t by = counts.at(place).measured_by;
    const bool is_measured = by == place || values.at(by) != 0U;
    const std::optional<std::uint64_t>& value = values.at(place);
    return value && is_measured ? std::to_string(*value) : "-";
}

/// For instance "3", or of both directions "3/0".
std::string count_text(const FlowView& flow, const ListedCounts& counts, std::size_t place) {
    std::string forward = count_text(flow.counts, counts, place);
    if (!flow.has_reverse() || !flow.reverse_counts.at(place)) {
        return forward;
    }
    return forward + '/' + count_text(flow.reverse_counts, counts, place);
}

}  // namespace

std::string source_text(const FlowKey& key) {
    const bool shows_port = has_ports(key);
    return endpoint_text(key, key.source,
                         shows_port ? std::to_string(key.source_port.value) : std::string());
}

std::string destination_text(const FlowKey& key) {
    const unsigned port = key.destination_port.value;
    if (is_icmp(key)) {
        return endpoint_text(key, key.destination,
                             std::to_string(port / 256) + '.' + std::to_string(port % 256));
    }
    return endpoint_text(key, key.destination,
                         has_ports(key) ? std::to_string(port) : std::string());
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

void FlowTable::add(const FlowView& flow) {
    rows_.push_back(to_row(flow));
    unused_[vlan] = unused_[vlan] && flow.core.key.vlan.value == 0;
    unused_[tunnel] = unused_[tunnel] && flow.tunnel.kind == TunnelKind::none;
    for (std::size_t place = 0; place < counts_.size(); ++place) {
        const bool is_there = flow.counts.at(place) || flow.reverse_counts.at(place);
        if (is_there && counts_.has_column(place)) {
            unused_.reset(first_count + place);
        }
    }
    unused_ &= flow.has_reverse() ? ~kReverseColumns : ~std::bitset<columns>();
    if (rows_.size() >= rows_per_block_) {
        flush();
    }
}

void FlowTable::flush() {
    const auto widen = [this](const Row& row) {
        for (std::size_t column = 0; column < columns; ++column) {
            widths_[column] = std::max(widths_[column], row[column].size());
        }
    };
    std::for_each(rows_.begin(), rows_.end(), widen);
    if (unused_in_header_ != unused_) {
        Row header;
        for (std::size_t column = 0; column < columns; ++column) {
            header[column] = title_of(column);
        }
        widen(header);
        print(header);
        unused_in_header_ = unused_;
    }
    for (const Row& row : rows_) {
        print(row);
    }
    rows_.clear();
}

const char* FlowTable::title_of(std::size_t column) const {
    static constexpr std::array<const char*, first_count> kFirst{
        "Start",  "Duration", "Proto", "Source",  "Destination", "VLAN",
        "Tunnel", "Flags",    "ToS",   "Packets", "Octets"};
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
    Row row;
    row[start] = time_text(view.start());
    row[duration] = view.is_timed() ? seconds_text(view.end() - view.start()) : "-";
    row[protocol] = protocol_text(flow.key.protocol);
    row[source] = source_text(flow.key);
    row[destination] = destination_text(flow.key);
    row[vlan] = flow.key.vlan.value != 0 ? std::to_string(flow.key.vlan.value) : "-";
    row[tunnel] = tunnel_text(view.tunnel);
    row[flags] = tcp_flags_text(flow.key.protocol, flow.tcp_control_bits);
    row[tos] = std::to_string(flow.ip_class_of_service);
    row[packets] = std::to_string(flow.packets);
    row[octets] = std::to_string(flow.octets);
    for (std::size_t place = 0; place < counts_.size(); ++place) {
        row[first_count + place] = count_text(view, counts_, place);
    }
    row[reverse_flags] = view.has_reverse() ? tcp_flags_text(flow.key.protocol, reverse_bits) : "-";
    row[reverse_packets] = std::to_string(view.reverse.packets);
    row[reverse_octets] = std::to_string(view.reverse.octets);
    row[end_reason] = end_reason_text(flow.end_reason);
    return row;
}

void FlowTable::print(const Row& row) {
    static constexpr std::bitset<columns> kNumbers = 1U << duration | 1U << vlan | 1U << tos |
                                                     1U << packets | 1U << octets |
                                                     1U << reverse_packets | 1U << reverse_octets;
    std::string line;
    for (std::size_t column = 0; column < columns; ++column) {
        if (unused_[column]) {
            continue;
        }
        const bool right = (kCountColumns | kNumbers)[column];
        const std::string padding(widths_[column] - row[column].size(), ' ');
        line += right ? padding + row[column] : row[column] + padding;
        line += column + 1 < columns ? "  " : "";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
}

}  // namespace tributary
