// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "export/messages/protobuf_writer.hpp"

namespace tributary {

/// How the value of an element becomes fields of a FlowMessage.
enum class FlowMessageForm : std::uint8_t {
    number,          ///< an integer or a MAC address, in one field
    address,         ///< IPv4 or IPv6, as `bytes`
    time,            ///< nanoseconds since 1970
    ether_type,      ///< etype, of ipVersion
    vlan,            ///< vlan_id and src_vlan
    icmp,            ///< icmp_type and icmp_code
    fragment_flags,  ///< ip_flags: as the three bits of the IPv4 header
    mpls,            ///< a section of the label stack, from mpls_top on
};

/// An element, and the field that it becomes.
struct FlowMessageField {
    std::string_view element;  ///< of IANA or tributary
    FlowMessageForm form{};
    ProtobufTag tag{};    ///< of `number`, `address` and `time`
    bool has_presence{};  ///< one of docs/tributary_flow.proto: written also where it is 0
};

/// All elements that messages can carry. Field numbers once used are never changed.
///
/// Numbers below 600 are goflow2's. Ours are 600 .. 699: goflow2 has none there and suggests 1000
/// and above for its users' own mappings, and tags of such numbers have two octets.
/// @source  goflow2 v2.2.6: pb/flow.proto, README
[[nodiscard]] std::span<const FlowMessageField> flow_message_fields() noexcept;
/// @return  nullptr: messages do not carry the element
[[nodiscard]] const FlowMessageField* find_flow_message_field(std::string_view element) noexcept;

/// Fields that no single element has, or that two of them have.
namespace flow_message {

using Wire = ProtobufWireType;

inline constexpr ProtobufTag kType{1, Wire::varint};
inline constexpr ProtobufTag kSamplingRate{3, Wire::varint};
inline constexpr ProtobufTag kSequenceNumber{4, Wire::varint};
inline constexpr ProtobufTag kSamplerAddress{11, Wire::length};
inline constexpr ProtobufTag kVlanId{29, Wire::varint};
inline constexpr ProtobufTag kEtherType{30, Wire::varint};
inline constexpr ProtobufTag kIcmpType{31, Wire::varint};
inline constexpr ProtobufTag kIcmpCode{32, Wire::varint};
inline constexpr ProtobufTag kSourceVlan{33, Wire::varint};
inline constexpr ProtobufTag kIpFlags{38, Wire::varint};
inline constexpr ProtobufTag kObservationDomain{70, Wire::varint};
inline constexpr ProtobufTag kMplsLabel{81, Wire::length};
inline constexpr ProtobufTag kTimeReceived{110, Wire::varint};

// Ours: docs/tributary_flow.proto.
inline constexpr ProtobufTag kProbeName{600, Wire::length};
inline constexpr std::uint32_t kStreamField = 601;
inline constexpr std::uint32_t kStreamSequenceField = 602;
inline constexpr ProtobufTag kStream{kStreamField, Wire::fixed64};
inline constexpr ProtobufTag kStreamSequence{kStreamSequenceField, Wire::varint};
inline constexpr ProtobufTag kMplsSections{617, Wire::length};

}  // namespace flow_message

}  // namespace tributary
