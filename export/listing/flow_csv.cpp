// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_csv.hpp"

#include <array>
#include <chrono>
#include <span>
#include <string_view>
#include <vector>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/listing/flow_words.hpp"
#include "export/listing/ip_text.hpp"

namespace tributary {
namespace {

/// One column; every one is a row here.
struct CsvColumn {
    std::string_view name;
    std::string (*text)(const FlowView& flow);
};

std::string milliseconds_text(Timestamp time) {
    const auto since_1970 =
        std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
    return time == Timestamp{} ? std::string() : std::to_string(since_1970);
}

std::string ip_text(const IpAddress& address, std::uint8_t version) {
    return version == 0 ? std::string()
                        : address_text(std::span(address).first(version == 4 ? 4 : 16));
}

std::string port_text(const FlowKey& key, L4Port port) {
    return has_ports(key) ? std::to_string(port.value) : std::string();
}

std::string count_text(const std::optional<std::uint64_t>& count) {
    return count ? std::to_string(*count) : std::string();
}

std::string reverse_text(const FlowView& flow, std::uint64_t number) {
    return flow.has_reverse() ? std::to_string(number) : std::string();
}

std::string tunnel_address_text(const FlowView& flow, const IpAddress& address) {
    return flow.tunnel.kind == TunnelKind::none ? std::string()
                                                : ip_text(address, flow.tunnel.ip_version);
}

using Flow = const FlowView&;

constexpr std::array kColumns{
    CsvColumn{"flowStartMilliseconds", [](Flow flow) { return milliseconds_text(flow.start()); }},
    CsvColumn{"flowEndMilliseconds", [](Flow flow) { return milliseconds_text(flow.end()); }},
    CsvColumn{"protocolIdentifier",
              [](Flow flow) { return std::to_string(flow.core.key.protocol); }},
    CsvColumn{"sourceIPAddress",
              [](Flow flow) { return ip_text(flow.core.key.source, flow.core.key.ip_version); }},
    CsvColumn{"sourceTransportPort",
              [](Flow flow) { return port_text(flow.core.key, flow.core.key.source_port); }},
    CsvColumn{
        "destinationIPAddress",
        [](Flow flow) { return ip_text(flow.core.key.destination, flow.core.key.ip_version); }},
    CsvColumn{"destinationTransportPort",
              [](Flow flow) { return port_text(flow.core.key, flow.core.key.destination_port); }},
    CsvColumn{"icmpTypeCode",
              [](Flow flow) {
                  return is_icmp(flow.core.key)
                             ? std::to_string(flow.core.key.destination_port.value)
                             : std::string();
              }},
    CsvColumn{"vlanId",
              [](Flow flow) {
                  const std::uint16_t vlan = flow.core.key.vlan.value;
                  return vlan != 0 ? std::to_string(vlan) : std::string();
              }},
    CsvColumn{"ingressInterface",
              [](Flow flow) { return std::to_string(flow.core.key.ingress_interface.value); }},
    CsvColumn{"ipClassOfService",
              [](Flow flow) { return std::to_string(flow.core.ip_class_of_service); }},
    CsvColumn{"tcpControlBits",
              [](Flow flow) { return std::to_string(flow.core.tcp_control_bits); }},
    CsvColumn{"packetDeltaCount", [](Flow flow) { return std::to_string(flow.core.packets); }},
    CsvColumn{"octetDeltaCount", [](Flow flow) { return std::to_string(flow.core.octets); }},
    CsvColumn{"reverseTcpControlBits",
              [](Flow flow) { return reverse_text(flow, flow.reverse.tcp_control_bits); }},
    CsvColumn{"reversePacketDeltaCount",
              [](Flow flow) { return reverse_text(flow, flow.reverse.packets); }},
    CsvColumn{"reverseOctetDeltaCount",
              [](Flow flow) { return reverse_text(flow, flow.reverse.octets); }},
    CsvColumn{"flowEndReason",
              [](Flow flow) {
                  const bool has_reason = flow.core.end_reason != FlowEndReason::none;
                  return has_reason ? end_reason_text(flow.core.end_reason) : std::string();
              }},
    CsvColumn{"tunnelType",
              [](Flow flow) {
                  const bool has_tunnel = flow.tunnel.kind != TunnelKind::none;
                  return has_tunnel ? tunnel_kind_text(flow.tunnel.kind) : std::string();
              }},
    CsvColumn{"tunnelId",
              [](Flow flow) {
                  const bool has_tunnel = flow.tunnel.kind != TunnelKind::none;
                  return has_tunnel ? std::to_string(flow.tunnel.id) : std::string();
              }},
    CsvColumn{"tunnelSourceIPAddress",
              [](Flow flow) { return tunnel_address_text(flow, flow.tunnel.source); }},
    CsvColumn{"tunnelDestinationIPAddress",
              [](Flow flow) { return tunnel_address_text(flow, flow.tunnel.destination); }},
};

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

std::string flow_csv(const FlowView& flow, const ListedCounts& counts) {
    std::string line;
    for (const CsvColumn& column : kColumns) {
        line += column.text(flow) + ',';
    }
    for (const ListedValues* const values : {&flow.counts, &flow.reverse_counts}) {
        for (std::size_t place = 0; place < counts.size(); ++place) {
            line += counts.has_column(place) ? count_text(values->at(place)) + ',' : "";
        }
    }
    line.pop_back();
    return line;
}

}  // namespace tributary
