// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "parsers/captured_bytes.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

/// Parses an IPv4 header with its options.
///
/// @param at          where the header begins
/// @param wire_bytes  the frame's length on the wire: where the total length is 0, the packet
///                    reaches to the end of the frame (bytes_to_frame_end())
/// @param fields      gets the header's fields; cleared by the caller
/// @return            where the payload lies
/// @errors            truncated_ipv4_header (but cut options are only noted), bad_ipv4_version,
///                    bad_ipv4_header_length, bad_ipv4_total_length
/// @cost              no loop
/// @source            RFC 791 §3.1
[[nodiscard]] inline IpLayer parse_ipv4(CapturedBytes frame, std::size_t at, std::size_t wire_bytes,
                                        PacketFields& fields) noexcept {
    constexpr std::size_t kMinimumHeader = 20;
    constexpr std::uint8_t kFragmentFlags =
        fragment_flag::kDontFragment | fragment_flag::kMoreFragments;
    const auto header = frame.header<kMinimumHeader>(at);
    if (!header) {
        return {ParseStatus::truncated_ipv4_header};
    }
    if (header.u8<0>() >> 4U != 4) {
        return {ParseStatus::bad_ipv4_version};
    }
    const std::size_t header_bytes = (header.u8<0>() & 0x0fU) * std::size_t{4};
    if (header_bytes < kMinimumHeader) {
        return {ParseStatus::bad_ipv4_header_length};
    }
    if (!frame.hold(at, header_bytes)) [[unlikely]] {
        if (!frame.cut()) {
            return {ParseStatus::truncated_ipv4_header};
        }
        fields.cut_header = CutHeader::ipv4_options;
    }
    std::size_t total_bytes = header.u16<2>();
    if (total_bytes == 0) [[unlikely]] {
        total_bytes = bytes_to_frame_end(wire_bytes, at);
    }
    if (total_bytes < header_bytes) {
        return {ParseStatus::bad_ipv4_total_length};
    }
    fields.ip_version = 4;
    fields.ip_class_of_service = header.u8<1>();
    fields.ip_bytes = static_cast<std::uint32_t>(total_bytes);
    fields.ttl = header.u8<8>();
    fields.protocol = header.u8<9>();
    std::copy_n(header.bytes<12, 4>(), 4, fields.source.begin());
    std::copy_n(header.bytes<16, 4>(), 4, fields.destination.begin());
    fields.fragment_id = header.u16<4>();
    fields.fragment_flags = header.u8<6>() & kFragmentFlags;
    fields.is_later_fragment = (header.u16<6>() & 0x1fffU) != 0;
    return {ParseStatus::ok, at + header_bytes, at + total_bytes, at};
}

}  // namespace tributary
