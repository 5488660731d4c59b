// SPDX-License-Identifier: Apache-2.0
#include "export/messages/flow_csv.hpp"

#include <array>
#include <chrono>
#include <span>
#include <string_view>
#include <vector>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/messages/flow_words.hpp"
#include "export/messages/ip_text.hpp"
#include "export/messages/json_value.hpp"

namespace tributary {
namespace {

/// One column; every one is a row here.
struct CsvColumn {
    std::string_view name;
    /// Writes its text; nothing where the flow does not have the value. @return  the end
    char* (*put)(char* out, const FlowView& flow);
};

char* put_milliseconds(char* out, Timestamp time) {
    const auto since_1970 =
        std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
    return time == Timestamp{} ? out : put_number(out, static_cast<std::uint64_t>(since_1970));
}

/// A prefix has its length behind it, 10.1.2.0/24.
char* put_ip(char* out, const IpAddress& address, const FlowAddress& kind, std::uint8_t version) {
    if (version == 0 || !kind.is_known) {
        return out;
    }
    out = put_address(out, std::span(address).first(version == 4 ? 4 : 16));
    if (kind.is_prefix) {
        *out++ = '/';
        out = kind.prefix_bits ? put_number(out, *kind.prefix_bits) : put_octets(out, "?");
    }
    return out;
}

template <class Count>
char* put_count(char* out, const std::optional<Count>& count) {
    return count ? put_number(out, *count) : out;
}

char* put_reverse(char* out, const FlowView& flow, std::uint64_t number) {
    return flow.has_reverse() ? put_number(out, number) : out;
}

bool has_tunnel(const FlowView& flow) { return flow.tunnel.kind != TunnelKind::none; }

char* put_tunnel_address(char* out, const FlowView& flow, const IpAddress& address,
                         const FlowAddress& kind) {
    return has_tunnel(flow) ? put_ip(out, address, kind, flow.tunnel.ip_version) : out;
}

using Flow = const FlowView&;

constexpr std::array kColumns{
    CsvColumn{"flowStartMilliseconds",
              [](char* out, Flow flow) { return put_milliseconds(out, flow.start()); }},
    CsvColumn{"flowEndMilliseconds",
              [](char* out, Flow flow) { return put_milliseconds(out, flow.end()); }},
    CsvColumn{"protocolIdentifier",
              [](char* out, Flow flow) { return put_count(out, flow.protocol()); }},
    CsvColumn{"sourceIPAddress",
              [](char* out, Flow flow) {
                  return put_ip(out, flow.core.key.source, flow.source, flow.core.key.ip_version);
              }},
    CsvColumn{"sourceTransportPort",
              [](char* out, Flow flow) { return put_count(out, flow.source_port()); }},
    CsvColumn{"destinationIPAddress",
              [](char* out, Flow flow) {
                  return put_ip(out, flow.core.key.destination, flow.destination,
                                flow.core.key.ip_version);
              }},
    CsvColumn{"destinationTransportPort",
              [](char* out, Flow flow) { return put_count(out, flow.destination_port()); }},
    CsvColumn{"icmpTypeCode",
              [](char* out, Flow flow) {
                  return flow.has_destination_port && is_icmp(flow.core.key)
                             ? put_number(out, flow.core.key.destination_port.value)
                             : out;
              }},
    CsvColumn{"vlanId",
              [](char* out, Flow flow) {
                  const std::uint16_t vlan = flow.core.key.vlan.value;
                  return vlan != 0 ? put_number(out, vlan) : out;
              }},
    CsvColumn{"ingressInterface",
              [](char* out, Flow flow) { return put_count(out, flow.interface()); }},
    CsvColumn{"ipClassOfService",
              [](char* out, Flow flow) { return put_count(out, flow.class_of_service()); }},
    CsvColumn{"tcpControlBits",
              [](char* out, Flow flow) {
                  return flow.has_flags ? put_number(out, flow.core.tcp_control_bits) : out;
              }},
    CsvColumn{"packetDeltaCount",
              [](char* out, Flow flow) { return put_number(out, flow.core.packets); }},
    CsvColumn{"octetDeltaCount",
              [](char* out, Flow flow) { return put_number(out, flow.core.octets); }},
    CsvColumn{
        "reverseTcpControlBits",
        [](char* out, Flow flow) { return put_reverse(out, flow, flow.reverse.tcp_control_bits); }},
    CsvColumn{"reversePacketDeltaCount",
              [](char* out, Flow flow) { return put_reverse(out, flow, flow.reverse.packets); }},
    CsvColumn{"reverseOctetDeltaCount",
              [](char* out, Flow flow) { return put_reverse(out, flow, flow.reverse.octets); }},
    CsvColumn{"flowEndReason",
              [](char* out, Flow flow) {
                  const bool has_reason = flow.core.end_reason != FlowEndReason::none;
                  return has_reason ? put_octets(out, end_reason_text(flow.core.end_reason)) : out;
              }},
    CsvColumn{"tunnelType",
              [](char* out, Flow flow) {
                  return has_tunnel(flow) ? put_octets(out, tunnel_kind_text(flow.tunnel.kind))
                                          : out;
              }},
    CsvColumn{"tunnelId",
              [](char* out, Flow flow) {
                  return has_tunnel(flow) ? put_number(out, flow.tunnel.id) : out;
              }},
    CsvColumn{"tunnelSourceIPAddress",
              [](char* out, Flow flow) {
                  return put_tunnel_address(out, flow, flow.tunnel.source, flow.outer_source);
              }},
    CsvColumn{"tunnelDestinationIPAddress",
              [](char* out, Flow flow) {
                  return put_tunnel_address(out, flow, flow.tunnel.destination,
                                            flow.outer_destination);
              }},
};
// The longest value of a column is the prefix of an address.
static_assert(kMostCsvOctets >= (kColumns.size() + 2 * kMostListedCounts) *
                                    (kMostAddressOctets + std::string_view("/128,").size()));

std::vector<const FieldElement*> elements_with_column() {
    std::vector<const FieldElement*> elements;
    const ListedCounts counts;
    for (std::size_t place = 0; place < counts.size(); ++place) {
        if (counts.has_column(place)) {
            elements.push_back(counts.at(place).element);
        }
    }
    return elements;
}

}  // namespace

std::string flow_csv_header() {
    std::string line;
    const auto add = [&line](std::string_view name) {
        line += line.empty() ? "" : ",";
        line += name;
    };
    for (const CsvColumn& column : kColumns) {
        add(column.name);
    }
    const std::vector<const FieldElement*> elements = elements_with_column();
    for (const FieldElement* const element : elements) {
        add(element->name);
    }
    for (const FieldElement* const element : elements) {
        add(reverse_name_of(*element));
    }
    return line;
}

namespace {

char* put_counts(char* out, const ListedValues& values, const ListedCounts& counts) noexcept {
    for (std::size_t place = 0; place < counts.size(); ++place) {
        if (counts.has_column(place)) {
            out = put_count(out, values.at(place));
            *out++ = ',';
        }
    }
    return out;
}

}  // namespace

char* put_flow_csv(char* out, const FlowView& flow, const ListedCounts& counts) noexcept {
    for (const CsvColumn& column : kColumns) {
        out = column.put(out, flow);
        *out++ = ',';
    }
    out = put_counts(out, flow.counts, counts);
    return put_counts(out, flow.reverse_counts, counts) - 1;
}

std::string flow_csv(const FlowView& flow, const ListedCounts& counts) {
    std::array<char, kMostCsvOctets> room{};
    return {room.data(), put_flow_csv(room.data(), flow, counts)};
}

}  // namespace tributary
