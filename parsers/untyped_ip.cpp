// SPDX-License-Identifier: Apache-2.0
#include "parsers/untyped_ip.hpp"

#include <cstdint>

#include "parsers/ethernet.hpp"
#include "parsers/ip_layer.hpp"

namespace tributary {

namespace {

/// As many octets as both an IPv4 header and the beginning of an Ethernet frame's payload have.
using Beginning = HeaderBytes<20>;

/// Whether one of the usual EtherTypes is there, and behind IP's, that version.
bool has_ethertype(Beginning frame) noexcept {
    const std::uint16_t type = frame.u16<12>();
    switch (type) {
        case ethertype::kIpv4:
            return frame.u8<14>() >> 4U == 4;
        case ethertype::kIpv6:
            return frame.u8<14>() >> 4U == 6;
        case ethertype::kArp:
        case ethertype::kMplsUnicast:
        case ethertype::kMplsMulticast:
        case ethertype::kPppoeDiscovery:
        case ethertype::kPppoeSession:
            return true;
        default:
            return is_vlan_tag(type);
    }
}

/// @param header_bytes  octets from `at` on that are captured; an even number
bool is_checksum_good(CapturedBytes frame, std::size_t at, std::size_t header_bytes) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < header_bytes; i += 2) {
        sum += frame.header<2>(at + i).u16<0>();
    }
    return sum % 0xffffU == 0;  // ones' complement
}

bool contradicts_ipv4(CapturedBytes frame, std::size_t at, std::size_t wire_bytes) noexcept {
    constexpr std::size_t kMinimumHeader = 20;
    const auto header = frame.header<kMinimumHeader>(at);
    const std::size_t header_bytes = (header.u8<0>() & 0x0fU) * std::size_t{4};
    const std::size_t total_bytes = header.u16<2>();
    if (header_bytes < kMinimumHeader || (total_bytes != 0 && total_bytes < header_bytes)) {
        return true;
    }
    return frame.hold(at, header_bytes) ? !is_checksum_good(frame, at, header_bytes)
                                        : total_bytes > bytes_to_frame_end(wire_bytes, at);
}

bool contradicts_ipv6(Beginning header, std::size_t at, std::size_t wire_bytes) noexcept {
    constexpr std::size_t kHeader = 40;
    constexpr std::size_t kFrameCheckSequence = 4;  // where a capture has it
    constexpr std::size_t kLongestPadded = 68;      // the shortest frame, with that and a tag
    const std::size_t payload_bytes = header.u16<4>();
    const std::size_t packet_bytes = kHeader + payload_bytes;
    const std::size_t on_wire = bytes_to_frame_end(wire_bytes, at);
    const bool is_shorter = payload_bytes != 0 && wire_bytes > kLongestPadded &&
                            packet_bytes + kFrameCheckSequence < on_wire;
    return is_shorter || packet_bytes > on_wire;
}

bool is_ethernet(CapturedBytes frame, std::size_t at, bool is_ipv4,
                 std::size_t wire_bytes) noexcept {
    const Beginning beginning = frame.header<20>(at);
    if (!beginning || !has_ethertype(beginning)) {
        return false;
    }
    return is_ipv4 ? contradicts_ipv4(frame, at, wire_bytes)
                   : contradicts_ipv6(beginning, at, wire_bytes);
}

}  // namespace

LinkLayer parse_untyped_ip(CapturedBytes frame, std::size_t at, std::size_t wire_bytes) noexcept {
    const auto first = frame.header<1>(at);
    if (!first) {
        return {ParseStatus::truncated_link_header};
    }
    const unsigned version = first.u8<0>() >> 4U;
    if ((version != 4 && version != 6) || is_ethernet(frame, at, version == 4, wire_bytes)) {
        return {ParseStatus::not_ip};
    }
    return {ParseStatus::ok, version == 4 ? ethertype::kIpv4 : ethertype::kIpv6, at};
}

}  // namespace tributary
