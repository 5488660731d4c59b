// SPDX-License-Identifier: Apache-2.0
#include "parsers/mpls.hpp"

#include <cstdint>
#include <limits>

#include "parsers/ethernet.hpp"
#include "parsers/untyped_ip.hpp"

namespace tributary {

namespace {

constexpr std::uint32_t kBottomOfStack = 0x100;

bool leads_to_ip(std::uint16_t type) noexcept {
    switch (type) {
        case ethertype::kIpv4:
        case ethertype::kIpv6:
        case ethertype::kMplsUnicast:
        case ethertype::kPppoeSession:
            return true;
        default:
            return is_vlan_tag(type);
    }
}

LinkLayer parse_pseudowire(CapturedBytes frame, std::size_t at, PacketFields& fields) noexcept {
    constexpr std::size_t kControlWord = 4;
    // First without a control word: behind a wrong one, a VLAN tag's payload type would stand in
    // the place of the ethertype.
    const auto plain = frame.header<14>(at);
    if (plain && leads_to_ip(plain.u16<12>())) {
        return parse_ethernet(frame, at, fields);
    }
    if (plain && plain.u8<0>() >> 4U != 0) {
        return {ParseStatus::mpls_non_ip};
    }
    const auto behind_control_word = frame.header<14>(at + kControlWord);
    if (!behind_control_word) {
        return {ParseStatus::truncated_link_header};
    }
    return leads_to_ip(behind_control_word.u16<12>())
               ? parse_ethernet(frame, at + kControlWord, fields)
               : LinkLayer{ParseStatus::mpls_non_ip};
}

}  // namespace

LinkLayer parse_mpls(CapturedBytes frame, std::size_t at, std::size_t wire_bytes, bool pseudowires,
                     PacketFields& fields) noexcept {
    const bool is_first_stack = fields.mpls_stack == nullptr;
    std::uint32_t entry = 0;
    while ((entry & kBottomOfStack) == 0) {
        const auto header = frame.header<4>(at);
        if (!header) {
            return {ParseStatus::truncated_mpls_label};
        }
        entry = header.u32<0>();
        at += 4;
        if (fields.mpls_stack == nullptr) {
            fields.mpls_stack = header.bytes<0, 4>();
        }
        if (is_first_stack && fields.mpls_labels < std::numeric_limits<std::uint8_t>::max()) {
            ++fields.mpls_labels;
        }
    }
    const LinkLayer payload = parse_untyped_ip(frame, at, wire_bytes);
    switch (payload.status) {
        case ParseStatus::ok:
            return payload;
        case ParseStatus::truncated_link_header:
            return {ParseStatus::truncated_mpls_label};
        default:
            return pseudowires ? parse_pseudowire(frame, at, fields)
                               : LinkLayer{ParseStatus::mpls_non_ip};
    }
}

}  // namespace tributary
