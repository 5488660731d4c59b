// SPDX-License-Identifier: Apache-2.0
#include "parsers/unified_header.hpp"

namespace tributary {

using namespace unified_header;

namespace {

/// The ethertype in the byte order of load().
constexpr std::uint16_t kEthertypeAsRead = kEthertype >> 8U | (kEthertype & 0xffU) << 8U;

/// Whether a sender may use this number: a parser's status. A status that only receivers use, of
/// frames, would count packets that never existed.
bool is_senders(std::uint8_t number) noexcept {
    switch (static_cast<ParseStatus>(number)) {
        case ParseStatus::not_unified_header:
        case ParseStatus::bad_unified_header_version:
        case ParseStatus::bad_unified_header_length:
        case ParseStatus::unknown_parse_status:
            return false;
        default:
            return number < kParseStatusCount;
    }
}

std::uint64_t tail_of(const PacketFields& fields) noexcept {
    const auto bit = [](bool is_set, unsigned place) { return std::uint64_t{is_set} << place; };
    const auto has = [&fields](std::uint8_t flag) { return (fields.fragment_flags & flag) != 0; };
    return (std::uint64_t{fields.tcp_control_bits} & 0x0fffU) |
           bit(fields.is_later_fragment, tail_bit::kLaterFragment) |
           bit(has(fragment_flag::kMoreFragments), tail_bit::kMoreFragments) |
           bit(has(fragment_flag::kDontFragment), tail_bit::kDontFragment) |
           bit(fields.ip_version == 6, tail_bit::kIpv6) |
           (std::uint64_t{fields.outer_vlan.value} & 0x0fffU) << tail_bit::kVlan |
           bit(fields.vlan_tags != 0, tail_bit::kHasVlanTag) |
           std::uint64_t{static_cast<std::uint8_t>(fields.cut_header)} << tail_bit::kCutHeader |
           std::uint64_t{fields.protocol} << tail_bit::kProtocol |
           std::uint64_t{fields.ip_class_of_service} << tail_bit::kClassOfService |
           std::uint64_t{fields.ttl} << tail_bit::kTtl;
}

}  // namespace

static_assert(kCutHeaderCount <= 8);  // three bits on the wire

ParseStatus read_unified_frame(std::span<const std::byte> frame, UnifiedFrame& header) noexcept {
    const std::byte* const data = frame.data();
    if (frame.size() < frame_at::kFirstRecord ||
        load<std::uint16_t>(data + frame_at::kEthertype) != kEthertypeAsRead) {
        return ParseStatus::not_unified_header;
    }
    const auto version = load<std::uint8_t>(data + frame_at::kVersion);
    if (version != kVersion && version != kVersionWithSegments) {
        return ParseStatus::bad_unified_header_version;
    }
    const UnifiedFrame read{.stream = load<std::uint32_t>(data + frame_at::kStream),
                            .sequence = load<std::uint64_t>(data + frame_at::kSequence),
                            .records = load<std::uint16_t>(data + frame_at::kRecords),
                            .has_segments = version == kVersionWithSegments};
    if (load<std::uint8_t>(data + frame_at::kRecordBytes) != read.record_bytes() ||
        read.records == 0 ||
        read.records * read.record_bytes() > frame.size() - frame_at::kFirstRecord) {
        return ParseStatus::bad_unified_header_length;
    }
    header = read;
    return ParseStatus::ok;
}

void write_unified_frame(const UnifiedFrame& header, const MacAddresses& addresses,
                         std::byte* out) noexcept {
    std::memcpy(out + frame_at::kMacAddresses, addresses.data(), addresses.size());
    store(out + frame_at::kEthertype, kEthertypeAsRead);
    store(out + frame_at::kVersion, header.has_segments ? kVersionWithSegments : kVersion);
    store(out + frame_at::kRecordBytes, static_cast<std::uint8_t>(header.record_bytes()));
    store(out + frame_at::kRecords, header.records);
    store(out + frame_at::kReserved, std::uint16_t{0});
    store(out + frame_at::kStream, header.stream);
    store(out + frame_at::kSequence, header.sequence);
}

void write_unified_header(const PacketView& packet, ParseStatus status, const PacketFields& fields,
                          std::byte* out) noexcept {
    std::memset(out, 0, kRecordBytes);
    store(out + record_at::kTime, std::int64_t{packet.seen_at.time_since_epoch().count()});
    store(out + record_at::kWireBytes, packet.wire_bytes);
    store(out + record_at::kInterface, packet.ingress_interface.value);
    if (status != ParseStatus::ok) {
        store(out + record_at::kStatus, static_cast<std::uint8_t>(status));
        return;
    }
    std::memcpy(out + record_at::kSource, fields.source.data(), sizeof fields.source);
    std::memcpy(out + record_at::kDestination, fields.destination.data(),
                sizeof fields.destination);
    store(out + record_at::kIpBytes, fields.ip_bytes);
    store(out + record_at::kSourcePort, fields.source_port.value);
    store(out + record_at::kDestinationPort, fields.destination_port.value);
    store(out + record_at::kTail, tail_of(fields));
}

void write_unified_segment(ParseStatus status, const PacketFields& fields,
                           std::byte* out) noexcept {
    if (status != ParseStatus::ok) {
        std::memset(out, 0, kSegmentBytes);
        return;
    }
    const TcpSegment segment =
        fields.has_tcp_segment ? fields.tcp : TcpSegment{.payload_bytes = kNoSegment};
    std::memcpy(out, &segment, kSegmentBytes);
}

ParseStatus status_of_unified_header(const std::byte* record) noexcept {
    const auto tail = load<std::uint64_t>(record + record_at::kTail);
    const auto status = static_cast<std::uint8_t>(tail >> tail_bit::kStatus);
    const std::uint64_t cut = tail >> tail_bit::kCutHeader & 7U;
    const bool is_known = is_senders(status) && cut < kCutHeaderCount;
    return is_known ? static_cast<ParseStatus>(status) : ParseStatus::unknown_parse_status;
}

}  // namespace tributary
