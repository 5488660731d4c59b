// SPDX-License-Identifier: Apache-2.0
#include "export/record_template.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <optional>

#include "export/ntp_time.hpp"

namespace tributary {
namespace {

enum class Group : std::uint8_t { core, extremes, layer2, tcp_counts };

/// In which templates an element stands, provided that its group is chosen.
enum class When : std::uint8_t {
    always,
    ipv4,
    ipv6,
    icmp_over_ipv4,
    icmp_over_ipv6,
    vlan,
    one_tag,
    two_tags,
    milliseconds,
    microseconds,
    nanoseconds,
};

struct Element {
    const char* name;
    Take take;
    std::size_t offset;  ///< in its group
    When when = When::always;
    Group group = Group::core;
};

constexpr std::size_t in_key(std::size_t offset) { return offsetof(FlowRecordCore, key) + offset; }
constexpr std::size_t kDestinationPort = in_key(offsetof(FlowKey, destination_port));
constexpr std::size_t kStart = offsetof(FlowRecordCore, start);
constexpr std::size_t kEnd = offsetof(FlowRecordCore, end);

// All that is exported, in the order of the wire. Sizes are those of the record; where the registry
// has unsigned64 for a 32-bit number that is reduced-size encoding (RFC 7011 §6.2).
constexpr std::array kElements{
    Element{"sourceIPv4Address", Take::ipv4_address, in_key(offsetof(FlowKey, source)), When::ipv4},
    Element{"destinationIPv4Address", Take::ipv4_address, in_key(offsetof(FlowKey, destination)),
            When::ipv4},
    Element{"sourceIPv6Address", Take::octets16, in_key(offsetof(FlowKey, source)), When::ipv6},
    Element{"destinationIPv6Address", Take::octets16, in_key(offsetof(FlowKey, destination)),
            When::ipv6},
    Element{"sourceTransportPort", Take::octets2, in_key(offsetof(FlowKey, source_port))},
    Element{"destinationTransportPort", Take::octets2, kDestinationPort},
    Element{"icmpTypeCodeIPv4", Take::octets2, kDestinationPort, When::icmp_over_ipv4},
    Element{"icmpTypeCodeIPv6", Take::octets2, kDestinationPort, When::icmp_over_ipv6},
    Element{"protocolIdentifier", Take::octets1, in_key(offsetof(FlowKey, protocol))},
    Element{"ipVersion", Take::octets1, in_key(offsetof(FlowKey, ip_version))},
    Element{"ipClassOfService", Take::octets1, offsetof(FlowRecordCore, ip_class_of_service)},
    Element{"tcpControlBits", Take::octets2, offsetof(FlowRecordCore, tcp_control_bits)},
    Element{"ingressInterface", Take::octets4, in_key(offsetof(FlowKey, ingress_interface))},
    Element{"vlanId", Take::octets2, in_key(offsetof(FlowKey, vlan)), When::vlan},
    Element{"octetDeltaCount", Take::octets8, offsetof(FlowRecordCore, octets)},
    Element{"packetDeltaCount", Take::octets8, offsetof(FlowRecordCore, packets)},
    Element{"flowStartMilliseconds", Take::milliseconds, kStart, When::milliseconds},
    Element{"flowEndMilliseconds", Take::milliseconds, kEnd, When::milliseconds},
    Element{"flowStartMicroseconds", Take::ntp_microseconds, kStart, When::microseconds},
    Element{"flowEndMicroseconds", Take::ntp_microseconds, kEnd, When::microseconds},
    Element{"flowStartNanoseconds", Take::ntp_nanoseconds, kStart, When::nanoseconds},
    Element{"flowEndNanoseconds", Take::ntp_nanoseconds, kEnd, When::nanoseconds},
    Element{"flowEndReason", Take::octets1, offsetof(FlowRecordCore, end_reason)},

    Element{"minimumIpTotalLength", Take::octets4, offsetof(ExtremesGroup, minimum_ip_total_length),
            When::always, Group::extremes},
    Element{"maximumIpTotalLength", Take::octets4, offsetof(ExtremesGroup, maximum_ip_total_length),
            When::always, Group::extremes},
    Element{"minimumTTL", Take::octets1, offsetof(ExtremesGroup, minimum_ttl), When::always,
            Group::extremes},
    Element{"maximumTTL", Take::octets1, offsetof(ExtremesGroup, maximum_ttl), When::always,
            Group::extremes},

    Element{"sourceMacAddress", Take::octets6, offsetof(Layer2Group, source_mac), When::always,
            Group::layer2},
    Element{"destinationMacAddress", Take::octets6, offsetof(Layer2Group, destination_mac),
            When::always, Group::layer2},
    Element{"layer2OctetDeltaCount", Take::octets8, offsetof(Layer2Group, layer2_octets),
            When::always, Group::layer2},
    Element{"dot1qVlanId", Take::octets2, offsetof(Layer2Group, dot1q_vlan), When::one_tag,
            Group::layer2},
    Element{"dot1qCustomerVlanId", Take::octets2, offsetof(Layer2Group, dot1q_customer_vlan),
            When::two_tags, Group::layer2},

    Element{"tcpSynTotalCount", Take::octets4, offsetof(TcpCountsGroup, syn), When::always,
            Group::tcp_counts},
    Element{"tcpFinTotalCount", Take::octets4, offsetof(TcpCountsGroup, fin), When::always,
            Group::tcp_counts},
    Element{"tcpRstTotalCount", Take::octets4, offsetof(TcpCountsGroup, rst), When::always,
            Group::tcp_counts},
    Element{"tcpPshTotalCount", Take::octets4, offsetof(TcpCountsGroup, psh), When::always,
            Group::tcp_counts},
    Element{"tcpAckTotalCount", Take::octets4, offsetof(TcpCountsGroup, ack), When::always,
            Group::tcp_counts},
    Element{"tcpUrgTotalCount", Take::octets4, offsetof(TcpCountsGroup, urg), When::always,
            Group::tcp_counts},
};

/// Where the group lies in a record; nothing when it was not chosen.
std::optional<std::size_t> place_of(Group group, const RecordLayout& layout) {
    const auto chosen = [](std::size_t at) {
        return at == 0 ? std::nullopt : std::optional<std::size_t>(at);
    };
    switch (group) {
        case Group::extremes:
            return chosen(layout.extremes_at);
        case Group::layer2:
            return chosen(layout.layer2_at);
        case Group::tcp_counts:
            return chosen(layout.tcp_counts_at);
        case Group::core:
            break;
    }
    return 0;
}

bool applies(When when, const RecordShape& shape, TimestampUnit timestamps) {
    switch (when) {
        case When::ipv4:
            return !shape.ipv6;
        case When::ipv6:
            return shape.ipv6;
        case When::icmp_over_ipv4:
            return shape.icmp && !shape.ipv6;
        case When::icmp_over_ipv6:
            return shape.icmp && shape.ipv6;
        case When::vlan:
            return shape.vlan;
        case When::one_tag:
            return shape.dot1q_tags >= 1;
        case When::two_tags:
            return shape.dot1q_tags >= 2;
        case When::milliseconds:
            return timestamps == TimestampUnit::milliseconds;
        case When::microseconds:
            return timestamps == TimestampUnit::microseconds;
        case When::nanoseconds:
            return timestamps == TimestampUnit::nanoseconds;
        case When::always:
            break;
    }
    return true;
}

template <class Value>
std::byte* put(std::byte* out, const Value& value) noexcept {
    std::memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

template <std::size_t kOctets>
std::byte* copy(std::byte* out, const std::byte* from) noexcept {
    std::memcpy(out, from, kOctets);
    return out + kOctets;
}

template <class Value>
Value get(const std::byte* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

std::uint64_t to_milliseconds(Timestamp time) noexcept {
    return static_cast<std::uint64_t>(time.time_since_epoch() / std::chrono::milliseconds{1});
}

std::byte* take_value(Take take, const std::byte* from, std::byte* out) noexcept {
    switch (take) {
        case Take::octets1:
            return copy<1>(out, from);
        case Take::octets2:
            return copy<2>(out, from);
        case Take::octets4:
            return copy<4>(out, from);
        case Take::octets6:
            return copy<6>(out, from);
        case Take::octets8:
            return copy<8>(out, from);
        case Take::octets16:
            return copy<16>(out, from);
        case Take::ipv4_address:
            return put(out, __builtin_bswap32(get<std::uint32_t>(from)));
        case Take::milliseconds:
            return put(out, to_milliseconds(get<Timestamp>(from)));
        case Take::ntp_microseconds:
            return put(out, to_ntp_microseconds(get<Timestamp>(from)));
        case Take::ntp_nanoseconds:
            return put(out, to_ntp_nanoseconds(get<Timestamp>(from)));
    }
    return out;
}
std::vector<TemplateField> fields_of(const RecordShape& shape, const RecordLayout& layout,
                                     TimestampUnit timestamps) {
    std::vector<TemplateField> fields;
    for (const Element& element : kElements) {
        const auto place = place_of(element.group, layout);
        if (place && applies(element.when, shape, timestamps)) {
            const auto from = static_cast<std::uint16_t>(*place + element.offset);
            fields.push_back({element.name, element.take, from});
        }
    }
    return fields;
}

static_assert(std::endian::native == std::endian::little);  // ipv4_address swaps without asking

}  // namespace

std::uint16_t octets_of(Take take) noexcept {
    switch (take) {
        case Take::octets1:
            return 1;
        case Take::octets2:
            return 2;
        case Take::octets4:
        case Take::ipv4_address:
            return 4;
        case Take::octets6:
            return 6;
        case Take::octets16:
            return 16;
        case Take::octets8:
        case Take::milliseconds:
        case Take::ntp_microseconds:
        case Take::ntp_nanoseconds:
            break;
    }
    return 8;
}

RecordShape RecordShape::at(std::size_t index) noexcept {
    return {.ipv6 = (index & 1U) != 0,
            .icmp = (index & 2U) != 0,
            .vlan = (index & 4U) != 0,
            .dot1q_tags = static_cast<std::uint8_t>(index / 8)};
}

RecordShape RecordShape::of(const std::byte* record, const RecordLayout& layout) noexcept {
    constexpr std::uint8_t kIcmp = 1;
    constexpr std::uint8_t kIcmpv6 = 58;
    const FlowKey& key = reinterpret_cast<const FlowRecordCore*>(record)->key;
    RecordShape shape;
    shape.ipv6 = key.ip_version != 4;
    shape.icmp = key.protocol == (shape.ipv6 ? kIcmpv6 : kIcmp);
    shape.vlan = key.vlan.value != 0;
    if (layout.layer2_at != 0) {
        const std::uint8_t tags =
            reinterpret_cast<const Layer2Group*>(record + layout.layer2_at)->vlan_tags;
        shape.dot1q_tags = tags > 2 ? std::uint8_t{2} : tags;
    }
    return shape;
}

std::size_t shape_count(const RecordLayout& layout) noexcept {
    return layout.layer2_at != 0 ? 24 : 8;
}

void RecordTemplate::write(const std::byte* record, std::byte* out) const noexcept {
    for (const TemplateField& field : fields) {
        out = take_value(field.take, record + field.from, out);
    }
}

std::vector<RecordTemplate> make_templates(const RecordLayout& layout, TimestampUnit timestamps) {
    constexpr std::size_t kFirstTemplateId = 256;
    std::vector<RecordTemplate> templates;
    for (std::size_t index = 0; index < shape_count(layout); ++index) {
        RecordTemplate& made = templates.emplace_back();
        made.id = static_cast<std::uint16_t>(kFirstTemplateId + index);
        made.fields = fields_of(RecordShape::at(index), layout, timestamps);
        for (const TemplateField& field : made.fields) {
            made.record_octets += octets_of(field.take);
        }
    }
    return templates;
}

}  // namespace tributary
