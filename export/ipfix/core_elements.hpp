// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "flowcache/fields/field_element.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Which part of a record, beside its field groups, has an element.
enum class CorePart : std::uint8_t {
    common,     ///< of FlowRecordCore: values that both directions of a biflow share
    direction,  ///< of FlowRecordCore: values of one direction
    biflow,     ///< of ReverseGroup: values of the record as a whole
    selector,   ///< of FlowRecordCore, where inputs differ in sampling
    cert,       ///< of one direction, with the option; behind all groups
};

/// An element of the records of all layouts.
struct CoreElement {
    FieldElement element;
    CorePart part = CorePart::common;
};

namespace core_elements {

[[nodiscard]] constexpr CoreElement of_key(const char* name, std::uint16_t number,
                                           Encoding encoding, std::size_t offset,
                                           Condition condition = Condition::always) noexcept {
    return {
        .element = {.name = name,
                    .number = number,
                    .encoding = encoding,
                    .offset = static_cast<std::uint16_t>(offsetof(FlowRecordCore, key) + offset),
                    .meaning = "",
                    .condition = condition,
                    .in_key = true}};
}
[[nodiscard]] constexpr CoreElement of_direction(const char* name, std::uint16_t number,
                                                 Encoding encoding, std::size_t offset,
                                                 Condition condition = Condition::always) noexcept {
    return {.element = {.name = name,
                        .number = number,
                        .encoding = encoding,
                        .offset = static_cast<std::uint16_t>(offset),
                        .meaning = "",
                        .condition = condition},
            .part = CorePart::direction};
}

inline constexpr std::size_t kDestinationPort = offsetof(FlowKey, destination_port);
inline constexpr std::size_t kStart = offsetof(FlowRecordCore, start);
inline constexpr std::size_t kEnd = offsetof(FlowRecordCore, end);

}  // namespace core_elements

/// CERT's element for TCP flags, which super_mediator reads. Ours has the flags of all packets, the
/// first one included, because YAF's initialTCPFlags is not available here.
///
/// @source  CERT's registry of IPFIX elements
inline constexpr FieldElement kCertElement{.name = "unionTCPFlags",
                                           .number = 15,
                                           .encoding = Encoding::octets1,
                                           .offset = offsetof(FlowRecordCore, tcp_control_bits),
                                           .meaning = "",
                                           .owner = ElementOwner::cert};

/// Elements that all records have, in the order of the wire. Those of the field groups stand in
/// flowcache/fields/. Sizes are those of the record; where the registry has larger ones that is
/// reduced-size encoding (RFC 7011 §6.2).
inline constexpr std::array kCoreElements = [] {
    using namespace core_elements;
    using E = Encoding;
    using C = Condition;
    return std::array{
        of_key("sourceIPv4Address", 8, E::octets4, offsetof(FlowKey, source), C::ipv4),
        of_key("destinationIPv4Address", 12, E::octets4, offsetof(FlowKey, destination), C::ipv4),
        of_key("sourceIPv6Address", 27, E::octets16, offsetof(FlowKey, source), C::ipv6),
        of_key("destinationIPv6Address", 28, E::octets16, offsetof(FlowKey, destination), C::ipv6),
        of_key("sourceTransportPort", 7, E::unsigned2, offsetof(FlowKey, source_port)),
        of_key("destinationTransportPort", 11, E::unsigned2, kDestinationPort),
        of_key("icmpTypeCodeIPv4", 32, E::unsigned2, kDestinationPort, C::icmp_over_ipv4),
        of_key("icmpTypeCodeIPv6", 139, E::unsigned2, kDestinationPort, C::icmp_over_ipv6),
        of_key("protocolIdentifier", 4, E::octets1, offsetof(FlowKey, protocol)),
        of_key("ipVersion", 60, E::octets1, offsetof(FlowKey, ip_version)),
        of_direction("ipClassOfService", 5, E::octets1,
                     offsetof(FlowRecordCore, ip_class_of_service)),
        of_direction("tcpControlBits", 6, E::unsigned2, offsetof(FlowRecordCore, tcp_control_bits)),
        of_key("ingressInterface", 10, E::unsigned4, offsetof(FlowKey, ingress_interface)),
        CoreElement{
            of_key("selectorId", 302, E::selector, offsetof(FlowKey, ingress_interface)).element,
            CorePart::selector},
        of_key("vlanId", 58, E::unsigned2, offsetof(FlowKey, vlan), C::vlan),
        of_direction("octetDeltaCount", 1, E::unsigned8, offsetof(FlowRecordCore, octets)),
        of_direction("packetDeltaCount", 2, E::unsigned8, offsetof(FlowRecordCore, packets)),
        of_direction("flowStartMilliseconds", 152, E::milliseconds, kStart, C::milliseconds),
        of_direction("flowEndMilliseconds", 153, E::milliseconds, kEnd, C::milliseconds),
        of_direction("flowStartMicroseconds", 154, E::ntp_microseconds, kStart, C::microseconds),
        of_direction("flowEndMicroseconds", 155, E::ntp_microseconds, kEnd, C::microseconds),
        of_direction("flowStartNanoseconds", 156, E::ntp_nanoseconds, kStart, C::nanoseconds),
        of_direction("flowEndNanoseconds", 157, E::ntp_nanoseconds, kEnd, C::nanoseconds),
        CoreElement{
            of_direction("flowEndReason", 136, E::octets1, offsetof(FlowRecordCore, end_reason))
                .element,
            CorePart::common},
        CoreElement{of_direction("biflowDirection", 239, E::octets1,
                                 offsetof(ReverseGroup, biflow_direction))
                        .element,
                    CorePart::biflow},
        CoreElement{kCertElement, CorePart::cert},
    };
}();

}  // namespace tributary
