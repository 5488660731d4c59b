// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_status.hpp"

// Unified headers: what somebody else, a NIC or another host, has parsed out of packets. One record
// of 64 octets per packet, many in an Ethernet frame. The format is docs/unified-header.md; it is
// fixed for ever as version 1. In version 2 each record has 16 octets more: what the analysis of
// TCP needs of a segment. All integers are little-endian.

namespace tributary {

namespace unified_header {

inline constexpr std::uint16_t kEthertype = 0x88b5;  ///< IEEE 802 local experimental
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint8_t kVersionWithSegments = 2;
inline constexpr std::size_t kRecordBytes = 64;
inline constexpr std::size_t kSegmentBytes = 16;  ///< behind each record of version 2

/// Offsets in a frame.
namespace frame_at {
inline constexpr std::size_t kMacAddresses = 0;
inline constexpr std::size_t kEthertype = 12;    ///< network byte order, alone
inline constexpr std::size_t kVersion = 14;      ///< u8
inline constexpr std::size_t kRecordBytes = 15;  ///< u8
inline constexpr std::size_t kRecords = 16;      ///< u16
inline constexpr std::size_t kReserved = 18;     ///< u16, 0
inline constexpr std::size_t kStream = 20;       ///< u32
inline constexpr std::size_t kSequence = 24;     ///< u64
inline constexpr std::size_t kFirstRecord = 32;
}  // namespace frame_at

/// Offsets in a record.
namespace record_at {
inline constexpr std::size_t kSource = 0;
inline constexpr std::size_t kDestination = 16;
inline constexpr std::size_t kTime = 32;              ///< i64, ns since 1970
inline constexpr std::size_t kSourcePort = 40;        ///< u16
inline constexpr std::size_t kDestinationPort = 42;   ///< u16
inline constexpr std::size_t kIpBytes = 44;           ///< u32
inline constexpr std::size_t kWireBytes = 48;         ///< u32
inline constexpr std::size_t kInterface = 52;         ///< u32
inline constexpr std::size_t kTail = 56;              ///< u64: all that follows
inline constexpr std::size_t kTcpAndIpFlags = 56;     ///< u16
inline constexpr std::size_t kVlanAndCutHeader = 58;  ///< u16
inline constexpr std::size_t kProtocol = 60;          ///< u8
inline constexpr std::size_t kClassOfService = 61;    ///< u8
inline constexpr std::size_t kTtl = 62;               ///< u8
inline constexpr std::size_t kStatus = 63;            ///< u8, a ParseStatus
}  // namespace record_at

/// Offsets behind a record of version 2.
namespace segment_at {
inline constexpr std::size_t kSequence = 0;         ///< u32
inline constexpr std::size_t kAcknowledgement = 4;  ///< u32
inline constexpr std::size_t kPayloadBytes = 8;     ///< u32, or kNoSegment
inline constexpr std::size_t kWindow = 12;          ///< u16
inline constexpr std::size_t kCopyId = 14;          ///< u16
}  // namespace segment_at
inline constexpr std::uint32_t kNoSegment = 0xffff'ffff;

/// Bits of a record's last eight octets, read as one integer: TCP control bits 0-11, VLAN id 16-27,
/// the octets from 60 on above bit 32.
namespace tail_bit {
inline constexpr unsigned kLaterFragment = 12;
inline constexpr unsigned kMoreFragments = 13;
inline constexpr unsigned kDontFragment = 14;
inline constexpr unsigned kIpv6 = 15;
inline constexpr unsigned kVlan = 16;
inline constexpr unsigned kHasVlanTag = 28;
inline constexpr unsigned kCutHeader = 29;  ///< three bits, a CutHeader
inline constexpr unsigned kProtocol = 32;
inline constexpr unsigned kClassOfService = 40;
inline constexpr unsigned kTtl = 48;
inline constexpr unsigned kStatus = 56;
}  // namespace tail_bit

/// @param at  `sizeof(T)` readable octets, of any alignment
template <class T>
[[nodiscard]] T load(const std::byte* at) noexcept {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
template <class T>
void store(std::byte* at, T value) noexcept {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(at, &value, sizeof value);
}

}  // namespace unified_header

/// What a frame of unified headers says of itself.
struct UnifiedFrame {
    std::uint32_t stream{};    ///< which queue of the sender
    std::uint64_t sequence{};  ///< number of the first record in its stream, from 0
    std::uint16_t records{};   ///< from 1; the first lies at unified_header::frame_at::kFirstRecord
    bool has_segments{};       ///< version 2

    /// From one record to the next.
    [[nodiscard]] std::size_t record_bytes() const noexcept {
        return unified_header::kRecordBytes + (has_segments ? unified_header::kSegmentBytes : 0);
    }
};

/// Destination and source, as on the wire.
using MacAddresses = std::array<std::byte, 12>;

/// Checks a frame and reads its header.
///
/// @param frame   Ethernet frame without FCS; may hold anything
/// @param header  written when the status is `ok`; its records then lie inside the frame
/// @errors        not_unified_header, bad_unified_header_version, bad_unified_header_length
/// @thread        any; pure
[[nodiscard]] ParseStatus read_unified_frame(std::span<const std::byte> frame,
                                             UnifiedFrame& header) noexcept;

/// Writes the header of a frame.
///
/// @param out  frame_at::kFirstRecord octets
void write_unified_frame(const UnifiedFrame& header, const MacAddresses& addresses,
                         std::byte* out) noexcept;

/// Writes the record of one packet.
///
/// @param packet  its time, wire length and interface are written
/// @param status  what parse_packet() returned
/// @param fields  read when the status is `ok`
/// @param out     unified_header::kRecordBytes octets
void write_unified_header(const PacketView& packet, ParseStatus status, const PacketFields& fields,
                          std::byte* out) noexcept;

/// Writes what stands behind the record of a packet in version 2.
///
/// @param status, fields  as for write_unified_header()
/// @param out             unified_header::kSegmentBytes octets
void write_unified_segment(ParseStatus status, const PacketFields& fields, std::byte* out) noexcept;

namespace unified_header {

// What reading costs is the number of stores. So a record goes into PacketFields as its addresses,
// and as four integers that are made of its ports, its IP length and its tail. What a record does
// not carry of these, identification, inner VLAN id, MPLS labels, flow label and segment, becomes
// 0, whatever was read before.
inline constexpr std::size_t kAddressBytes = 32;
inline constexpr std::size_t kLengthWord = 40;  ///< offset in PacketFields
inline constexpr std::size_t kTailWord = 48;    ///< offset in PacketFields
inline constexpr std::size_t kTagsWord = 56;    ///< offset in PacketFields
static_assert(std::is_standard_layout_v<PacketFields> &&
              std::is_trivially_copyable_v<PacketFields>);
static_assert(offsetof(PacketFields, source) == record_at::kSource &&
              offsetof(PacketFields, destination) == record_at::kDestination &&
              offsetof(PacketFields, source_port) == kAddressBytes);
static_assert(record_at::kDestinationPort == record_at::kSourcePort + 2 &&
              record_at::kIpBytes == record_at::kSourcePort + 4);

/// PacketFields::flow_word() of a record.
///
/// @param ports_and_length  the ports, and above them the IP length
[[nodiscard]] constexpr std::uint64_t flow_word(std::uint64_t ports_and_length,
                                                std::uint64_t tail) noexcept {
    return (ports_and_length & 0xffff'ffffU) | (tail >> tail_bit::kVlan & 0x0fffU) << 32U |
           (tail >> tail_bit::kProtocol & 0xffU) << 48U |
           (4U | (tail >> (tail_bit::kIpv6 - 1) & 2U)) << 56U;
}

/// IP length and identification, as PacketFields has them.
[[nodiscard]] constexpr std::uint64_t length_word(std::uint64_t ports_and_length) noexcept {
    return ports_and_length >> 32U;
}
static_assert(offsetof(PacketFields, ip_bytes) == kLengthWord &&
              offsetof(PacketFields, fragment_id) == kLengthWord + 4);

/// TCP control bits, class of service, TTL, fragment flags, cut header and MPLS labels, as
/// PacketFields has them.
[[nodiscard]] constexpr std::uint64_t tail_word(std::uint64_t tail) noexcept {
    constexpr unsigned kFlagsUp = 24;  // MF and DF at once, to where fragment_flags has them
    static_assert(fragment_flag::kMoreFragments ==
                  1U << (tail_bit::kMoreFragments + kFlagsUp - 32));
    static_assert(fragment_flag::kDontFragment == 1U << (tail_bit::kDontFragment + kFlagsUp - 32));
    return (tail & 0x0fffU) | (tail >> tail_bit::kClassOfService & 0xffffU) << 16U |
           (tail & (1U << tail_bit::kMoreFragments | 1U << tail_bit::kDontFragment)) << kFlagsUp |
           (tail >> tail_bit::kLaterFragment & 1U) << 40U |
           (tail >> tail_bit::kCutHeader & 7U) << 48U;
}
static_assert(offsetof(PacketFields, tcp_control_bits) == kTailWord &&
              offsetof(PacketFields, ip_class_of_service) == kTailWord + 2 &&
              offsetof(PacketFields, ttl) == kTailWord + 3 &&
              offsetof(PacketFields, fragment_flags) == kTailWord + 4 &&
              offsetof(PacketFields, is_later_fragment) == kTailWord + 5 &&
              offsetof(PacketFields, cut_header) == kTailWord + 6 &&
              offsetof(PacketFields, mpls_labels) == kTailWord + 7);

/// Inner VLAN id, number of tags, which is never more than one, segment and flow label, as
/// PacketFields has them.
[[nodiscard]] constexpr std::uint64_t tags_word(std::uint64_t tail) noexcept {
    return (tail >> tail_bit::kHasVlanTag & 1U) << 16U;
}
static_assert(offsetof(PacketFields, customer_vlan) == kTagsWord &&
              offsetof(PacketFields, vlan_tags) == kTagsWord + 2 &&
              offsetof(PacketFields, has_tcp_segment) == kTagsWord + 3 &&
              offsetof(PacketFields, flow_label) == kTagsWord + 4);

}  // namespace unified_header

/// Reads the record of one packet: loads, masks and stores, without a condition.
///
/// @param record  unified_header::kRecordBytes octets, of any content and alignment
/// @param fields  gets what a record carries, good where the record is plain or its status `ok`,
///                and 0 for what it does not; MAC addresses, MPLS stack, tunnel and segment are
///                left as they are, so fields that only this function has written need no clearing
/// @param packet  gets wire length, interface and, as seen_at, the time, which is not checked;
///                whatever the status
/// @return        whether the record is plain: its status is `ok`, and no header was cut. Otherwise
///                status_of_unified_header() tells what it is.
/// @thread        any; pure
/// @cost          no allocation, no loop, no branch
[[nodiscard]] inline bool read_unified_header(const std::byte* record, PacketFields& fields,
                                              PacketView& packet) noexcept {
    using namespace unified_header;
    constexpr std::uint64_t kNotPlain =
        std::uint64_t{0xff} << tail_bit::kStatus | std::uint64_t{7} << tail_bit::kCutHeader;
    packet.seen_at = Timestamp{Timestamp::duration{load<std::int64_t>(record + record_at::kTime)}};
    packet.wire_bytes = load<std::uint32_t>(record + record_at::kWireBytes);
    packet.ingress_interface = {load<std::uint32_t>(record + record_at::kInterface)};

    auto* const out = reinterpret_cast<std::byte*>(&fields);
    const auto ports_and_length = load<std::uint64_t>(record + record_at::kSourcePort);
    const auto tail = load<std::uint64_t>(record + record_at::kTail);
    std::memcpy(out, record + record_at::kSource, kAddressBytes);
    fields.set_flow_word(flow_word(ports_and_length, tail));
    store(out + kLengthWord, length_word(ports_and_length));
    store(out + kTailWord, tail_word(tail));
    store(out + kTagsWord, tags_word(tail));
    return (tail & kNotPlain) == 0;
}

/// Reads what stands behind the record of a packet in version 2.
///
/// @param segment  unified_header::kSegmentBytes octets, of any content and alignment
/// @param fields   of that record, already read; gets `tcp` and `has_tcp_segment`
inline void read_unified_segment(const std::byte* segment, PacketFields& fields) noexcept {
    using namespace unified_header;
    static_assert(sizeof(TcpSegment) == kSegmentBytes &&
                  offsetof(TcpSegment, sequence) == segment_at::kSequence &&
                  offsetof(TcpSegment, acknowledgement) == segment_at::kAcknowledgement &&
                  offsetof(TcpSegment, payload_bytes) == segment_at::kPayloadBytes &&
                  offsetof(TcpSegment, window) == segment_at::kWindow &&
                  offsetof(TcpSegment, copy_id) == segment_at::kCopyId);
    std::memcpy(&fields.tcp, segment, kSegmentBytes);
    static_assert(kNoSegment > TcpSegment::kMostPayload);
    fields.has_tcp_segment = fields.tcp.payload_bytes <= TcpSegment::kMostPayload;
}

/// What a record says of its packet.
///
/// @param record  unified_header::kRecordBytes octets, of any content and alignment
/// @return        `ok`, why the sender's parser ignored the packet, or unknown_parse_status: no
///                sender of this version has such a status, or such a cut header
[[nodiscard]] ParseStatus status_of_unified_header(const std::byte* record) noexcept;

}  // namespace tributary
