// SPDX-License-Identifier: Apache-2.0
#include "parsers/ipv6.hpp"

namespace tributary {

namespace {

std::size_t extension_bytes(std::uint8_t protocol, HeaderBytes<8> header) noexcept {
    const std::size_t length = header.u8<1>();
    switch (protocol) {
        case ipv6_extension::kFragment:
            return 8;
        case ipv6_extension::kAuthentication:
            return (length + 2) * 4;
        default:
            return (length + 1) * 8;
    }
}

Ipv6Payload end_at_missing_header(CapturedBytes packet, std::size_t at,
                                  PacketFields& fields) noexcept {
    if (!packet.cut()) {
        return {ParseStatus::truncated_ipv6_extension_header};
    }
    fields.cut_header = CutHeader::ipv6_extension_header;
    return {ParseStatus::ok, at};
}

/// The payload length in the Jumbo option of the hop-by-hop header at `at`; 0 without one.
std::uint32_t jumbo_payload_bytes(CapturedBytes frame, std::size_t at) noexcept {
    constexpr std::uint8_t kPad1 = 0x00;
    constexpr std::uint8_t kJumboPayload = 0xc2;
    const auto hop_by_hop = frame.header<8>(at);
    if (!hop_by_hop) {
        return 0;
    }
    const CapturedBytes options =
        frame.before(at + extension_bytes(ipv6_extension::kHopByHop, hop_by_hop));
    std::size_t option_at = at + 2;
    while (const auto type = options.header<1>(option_at)) {
        if (type.u8<0>() == kPad1) {
            ++option_at;
            continue;
        }
        const auto option = options.header<2>(option_at);
        if (!option) {
            return 0;
        }
        const auto jumbo = options.header<6>(option_at);
        if (jumbo && jumbo.u8<0>() == kJumboPayload && jumbo.u8<1>() == 4) {
            return jumbo.u32<2>();
        }
        option_at += std::size_t{2} + option.u8<1>();
    }
    return 0;
}

}  // namespace

Ipv6Payload skip_ipv6_extensions(CapturedBytes packet, std::size_t at,
                                 PacketFields& fields) noexcept {
    while (is_ipv6_extension(fields.protocol) && !fields.is_later_fragment) {
        const auto header = packet.header<8>(at);
        const std::size_t size = header ? extension_bytes(fields.protocol, header) : 8;
        if (!packet.hold(at, size)) {
            return end_at_missing_header(packet, at, fields);
        }
        if (fields.protocol == ipv6_extension::kFragment) {
            const std::uint16_t offset_and_flags = header.u16<2>();
            fields.is_later_fragment = offset_and_flags >> 3U != 0;
            fields.fragment_flags =
                (offset_and_flags & 1U) != 0 ? fragment_flag::kMoreFragments : 0;
            fields.fragment_id = header.u32<4>();
        }
        fields.protocol = header.u8<0>();
        at += size;
    }
    return {ParseStatus::ok, at};
}

std::size_t payload_bytes_of_length_0(CapturedBytes frame, std::size_t payload_at,
                                      std::uint8_t next_header, std::size_t wire_bytes) noexcept {
    if (next_header == ipv6_extension::kNoNextHeader) {
        return 0;
    }
    const std::uint32_t jumbo =
        next_header == ipv6_extension::kHopByHop ? jumbo_payload_bytes(frame, payload_at) : 0;
    return jumbo != 0 ? jumbo : bytes_to_frame_end(wire_bytes, payload_at);
}

}  // namespace tributary
