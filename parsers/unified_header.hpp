// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

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

// Unified headers: the fields of packets that a NIC or another host has parsed. One record of 64
// octets per packet, many in an Ethernet frame. The format is docs/unified-header.md; version 1 is
// fixed for ever. In version 2 each record has 16 octets more, for the analysis of TCP. All
// integers are little-endian.

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

/// The header of a frame of unified headers.
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
/// @param status  the result of parse_packet()
/// @param fields  read when the status is `ok`
/// @param out     unified_header::kRecordBytes octets
void write_unified_header(const PacketView& packet, ParseStatus status, const PacketFields& fields,
                          std::byte* out) noexcept;

/// Writes the octets behind the record of a packet in version 2.
///
/// @param status, fields  as for write_unified_header()
/// @param out             unified_header::kSegmentBytes octets
void write_unified_segment(ParseStatus status, const PacketFields& fields, std::byte* out) noexcept;

namespace unified_header {

// Reading costs as much as it has instructions. So addresses go into PacketFields as they are;
// ports, IP length and tail become the 32 octets behind them at once, and the rest those of a
// PacketView. Fields that a record does not carry there (identification, inner VLAN id, MPLS
// labels, flow label and segment) become 0, whatever was read before.
static_assert(std::is_standard_layout_v<PacketFields> &&
              std::is_trivially_copyable_v<PacketFields>);
static_assert(offsetof(PacketFields, source) == record_at::kSource &&
              offsetof(PacketFields, destination) == record_at::kDestination);
inline constexpr std::size_t kAddressBytes = 32;

/// Writes the fields between the addresses and the MAC addresses, but leaves cut_header at `none`.
///
///     field                octets of the record, and how they are changed
///     source_port          40, 41
///     destination_port     42, 43
///     outer_vlan           58, 59      the second one & 0x0f
///     protocol             60
///     ip_version           57          & 0x80, at most 2, and 4 more
///     ip_bytes             44 .. 47
///     tcp_control_bits     56, 57      the second one & 0x0f
///     ip_class_of_service  61
///     ttl                  62
///     fragment_flags       57          & 0x60
///     is_later_fragment    57          & 0x10, at most 1
///     vlan_tags            59          & 0x10, at most 1
///
/// @param record  kRecordBytes octets
[[gnu::always_inline]] inline void write_words(const std::byte* record,
                                               PacketFields& fields) noexcept {
    using Octets = __m256i;
    constexpr std::size_t kAt = offsetof(PacketFields, source_port);
    constexpr char kZ = -1;     // of a shuffle: zero
    constexpr char kF = -1;     // of a mask: all bits
    constexpr char kV6 = -128;  // the highest bit
    const auto* const half = reinterpret_cast<const Octets*>(record + record_at::kTime);
    // Ports, length and tail in the lower lane, the tail again in the upper one.
    const Octets source =
        _mm256_permute4x64_epi64(_mm256_loadu_si256(half), _MM_SHUFFLE(3, 3, 3, 1));
    const Octets places =
        _mm256_setr_epi8(0, 1, 2, 3, 10, 11, 12, 9, 4, 5, 6, 7, kZ, kZ, kZ, kZ,  //
                         0, 1, 5, 6, 1, 1, kZ, kZ, kZ, kZ, 3, kZ, kZ, kZ, kZ, kZ);
    const Octets bits =
        _mm256_setr_epi8(kF, kF, kF, kF, kF, 0x0f, kF, kV6, kF, kF, kF, kF, kF, kF, kF, kF,  //
                         kF, 0x0f, kF, kF, 0x60, 0x10, kF, kF, kF, kF, 0x10, kF, kF, kF, kF, kF);
    const Octets most =
        _mm256_setr_epi8(kF, kF, kF, kF, kF, kF, kF, 2, kF, kF, kF, kF, kF, kF, kF, kF,  //
                         kF, kF, kF, kF, kF, 1, kF, kF, kF, kF, 1, kF, kF, kF, kF, kF);
    const Octets more = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                         0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const Octets chosen = _mm256_and_si256(_mm256_shuffle_epi8(source, places), bits);
    const Octets words = _mm256_or_si256(_mm256_min_epu8(chosen, most), more);
    _mm256_storeu_si256(reinterpret_cast<Octets*>(reinterpret_cast<std::byte*>(&fields) + kAt),
                        words);

    static_assert(kAt == kAddressBytes && offsetof(PacketFields, mac_addresses) == kAt + 32);
    static_assert(offsetof(PacketFields, ip_bytes) == kAt + 8 &&
                  offsetof(PacketFields, tcp_control_bits) == kAt + 16 &&
                  offsetof(PacketFields, ip_class_of_service) == kAt + 18 &&
                  offsetof(PacketFields, ttl) == kAt + 19 &&
                  offsetof(PacketFields, fragment_flags) == kAt + 20 &&
                  offsetof(PacketFields, is_later_fragment) == kAt + 21 &&
                  offsetof(PacketFields, vlan_tags) == kAt + 26);
    static_assert(
        record_at::kTime == 32 && record_at::kSourcePort == 40 && record_at::kIpBytes == 44 &&
        record_at::kTail == 56 && tail_bit::kLaterFragment == 8 + 4 && tail_bit::kIpv6 == 8 + 7 &&
        tail_bit::kVlan == 16 && tail_bit::kHasVlanTag == 24 + 4 && tail_bit::kProtocol == 32 &&
        tail_bit::kClassOfService == 40 && tail_bit::kTtl == 48);
    // Two flags stand in octet 57 where they stand in fragment_flags.
    static_assert(fragment_flag::kMoreFragments == 1U << (tail_bit::kMoreFragments - 8) &&
                  fragment_flag::kDontFragment == 1U << (tail_bit::kDontFragment - 8));
}

/// Writes all of a packet's view but its captured bytes: wire length, interface and, twice, time;
/// it is of Ethernet.
///
/// @param record  kRecordBytes octets
[[gnu::always_inline]] inline void write_view(const std::byte* record,
                                              PacketView& packet) noexcept {
    using Octets = __m256i;
    constexpr std::size_t kAt = offsetof(PacketView, wire_bytes);
    constexpr char kZ = -1;  // of a shuffle: zero
    constexpr auto kEthernet = static_cast<char>(LinkType::ethernet);
    const auto* const half = reinterpret_cast<const Octets*>(record + record_at::kTime);
    // Wire length and interface in the lower lane, the time twice in the upper one.
    const Octets source =
        _mm256_permute4x64_epi64(_mm256_loadu_si256(half), _MM_SHUFFLE(0, 0, 2, 2));
    const Octets places =
        _mm256_setr_epi8(0, 1, 2, 3, kZ, kZ, kZ, kZ, 4, 5, 6, 7, kZ, kZ, kZ, kZ,  //
                         0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
    const Octets more = _mm256_setr_epi8(0, 0, 0, 0, kEthernet, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                         0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm256_storeu_si256(reinterpret_cast<Octets*>(reinterpret_cast<std::byte*>(&packet) + kAt),
                        _mm256_or_si256(_mm256_shuffle_epi8(source, places), more));
    static_assert(offsetof(PacketView, link_type) == kAt + 4 &&
                  offsetof(PacketView, ingress_interface) == kAt + 8 &&
                  offsetof(PacketView, seen_at) == kAt + 16 &&
                  offsetof(PacketView, clock) == kAt + 24 && sizeof(PacketView) == kAt + 32);
    static_assert(record_at::kTime == 32 && record_at::kWireBytes == 48 &&
                  record_at::kInterface == 52);
}

}  // namespace unified_header

/// Reads the record of one packet.
///
/// @param fields  gets the fields of a record, valid where the record is plain or its status `ok`,
///                and 0 for what a record does not carry; MAC addresses, MPLS stack, tunnel and
///                segment are left as they are, so fields that only this function has written need
///                no clearing
/// @param packet  gets wire length, interface and, as seen_at and clock, the time, which is not
///                checked, and is of Ethernet; for any status. Its captured bytes
///                are left as they are.
/// @return        whether the record is plain: its status is `ok`, and no header was cut. Otherwise
///                status_of_unified_header() is its status.
/// @thread        any; pure
/// @cost          no allocation, no loop
[[nodiscard]] inline bool read_unified_header(const std::byte* record, PacketFields& fields,
                                              PacketView& packet) noexcept {
    using namespace unified_header;
    constexpr std::uint64_t kNotPlain =
        std::uint64_t{0xff} << tail_bit::kStatus | std::uint64_t{7} << tail_bit::kCutHeader;
    write_view(record, packet);
    std::memcpy(reinterpret_cast<std::byte*>(&fields), record + record_at::kSource, kAddressBytes);
    write_words(record, fields);
    const auto tail = load<std::uint64_t>(record + record_at::kTail);
    if ((tail & kNotPlain) == 0) [[likely]] {
        return true;
    }
    fields.cut_header = static_cast<CutHeader>(tail >> tail_bit::kCutHeader & 7U);
    return false;
}

/// Reads the octets behind the record of a packet in version 2.
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

/// The status of a record's packet.
///
/// @param record  unified_header::kRecordBytes octets, of any content and alignment
/// @return        `ok`, why the sender's parser ignored the packet, or unknown_parse_status: no
///                sender of this version has such a status, or such a cut header
[[nodiscard]] ParseStatus status_of_unified_header(const std::byte* record) noexcept;

}  // namespace tributary
