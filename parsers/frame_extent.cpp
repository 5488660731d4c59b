// SPDX-License-Identifier: Apache-2.0
#include "parsers/frame_extent.hpp"

#include "parsers/captured_bytes.hpp"
#include "parsers/ethernet.hpp"
#include "parsers/ipv6.hpp"
#include "parsers/network_layer.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {
namespace {

FrameExtent extent_of_ipv4(CapturedBytes frame, std::size_t at) noexcept {
    const auto header = frame.header<4>(at);
    if (!header || header.u8<0>() >> 4U != 4) {
        return {};
    }
    const std::size_t total_bytes = header.u16<2>();
    return {.is_ip = true, .is_announced = total_bytes != 0, .end = at + total_bytes};
}

FrameExtent extent_of_ipv6(CapturedBytes frame, std::size_t at) noexcept {
    const auto header = frame.header<kIpv6HeaderBytes>(at);
    if (!header || header.u8<0>() >> 4U != 6) {
        return {};
    }
    const std::size_t payload_at = at + kIpv6HeaderBytes;
    std::size_t payload_bytes = header.u16<4>();
    const std::uint8_t next_header = header.u8<6>();
    if (payload_bytes == 0) {
        constexpr std::size_t kNoFrame = 0;  // so that only an option gives a length
        payload_bytes = payload_bytes_of_length_0(frame, payload_at, next_header, kNoFrame);
    }
    return {.is_ip = true,
            .is_announced = payload_bytes != 0 || next_header == ipv6_extension::kNoNextHeader,
            .end = payload_at + payload_bytes};
}

}  // namespace

FrameExtent extent_of(const PacketView& packet) noexcept {
    // The length of a frame does not depend on what is metered of it.
    constexpr ParseOptions kLooksFurther{.mpls_pseudowires = true, .llc_snap = true};
    const CapturedBytes frame(packet.captured);
    PacketFields unused;
    LinkLayer link = parse_link_layer(packet.link_type, frame, unused);
    link = find_network_layer(frame, link, packet.wire_bytes, kLooksFurther, unused);
    if (link.status != ParseStatus::ok) {
        return {};
    }
    return link.ethertype == ethertype::kIpv4 ? extent_of_ipv4(frame, link.payload_at)
                                              : extent_of_ipv6(frame, link.payload_at);
}

}  // namespace tributary
