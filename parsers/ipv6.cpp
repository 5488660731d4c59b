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

}  // namespace

IpLayer skip_ipv6_extensions(CapturedBytes frame, IpLayer ip, PacketFields& fields) noexcept {
    const CapturedBytes packet = frame.before(ip.end);
    while (is_ipv6_extension(fields.protocol) && !ip.is_later_fragment) {
        const auto header = packet.header<8>(ip.payload_at);
        if (!header) {
            return {ParseStatus::truncated_ipv6_extension_header};
        }
        const std::size_t size = extension_bytes(fields.protocol, header);
        if (!packet.hold(ip.payload_at, size)) {
            return {ParseStatus::truncated_ipv6_extension_header};
        }
        if (fields.protocol == ipv6_extension::kFragment) {
            ip.is_later_fragment = header.u16<2>() >> 3U != 0;
        }
        fields.protocol = header.u8<0>();
        ip.payload_at += size;
    }
    return ip;
}

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

}  // namespace tributary
