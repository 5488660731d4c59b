// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"

// What the parsers' fuzz targets share. Their input is four bytes, then a frame:
//
//   0-1  added to the captured length to make the wire length (big-endian); from 0xff00 on it is
//        shorter than what was captured instead
//   2    ParseOptions (bits 0-2) and link type (bits 3-7, modulo their number)
//   3    where the trimmed parser cuts, whether MAC addresses are the outermost frame's (if odd)

namespace tributary::fuzz {

inline void demand(bool holds) {
    if (!holds) {
        std::abort();
    }
}

struct FuzzedFrame {
    PacketView packet;
    ParseOptions options;
    std::size_t cut{};  ///< 0 .. 255
};

inline std::optional<FuzzedFrame> read_input(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kHeader = 4;
    constexpr std::array kLinkTypes{LinkType::ethernet,   LinkType::null,
                                    LinkType::ppp,        LinkType::raw_bsd,
                                    LinkType::raw_ip,     LinkType::ppp_hdlc,
                                    LinkType::pppoe,      LinkType::openbsd_loopback,
                                    LinkType::cisco_hdlc, LinkType::linux_sll,
                                    LinkType::linux_sll2, static_cast<LinkType>(147)};
    if (size < kHeader) {
        return std::nullopt;
    }
    const auto frame = std::as_bytes(std::span(data, size)).subspan(kHeader);
    const auto captured = static_cast<std::uint32_t>(frame.size());
    const std::uint32_t more = std::uint32_t{data[0]} << 8U | data[1];
    const std::uint32_t fewer = std::min(captured, more & 0xffU);
    return FuzzedFrame{
        .packet = {.captured = frame,
                   .wire_bytes = more < 0xff00 ? captured + more : captured - fewer,
                   .link_type = kLinkTypes[(data[2] >> 3U) % kLinkTypes.size()]},
        .options = {.tunnel = (data[2] & 1U) != 0 ? TunnelMode::inner : TunnelMode::outer,
                    .mac_addresses = (data[3] & 1U) != 0 ? MacMode::outer : MacMode::inner,
                    .mpls_pseudowires = (data[2] & 2U) != 0,
                    .llc_snap = (data[2] & 4U) != 0,
                    .tcp_segments = true},
        .cut = data[3]};
}

/// A frame in memory of just its size, not aligned: the sanitizers see each byte read around it.
class FrameCopy {
public:
    explicit FrameCopy(std::span<const std::byte> frame)
        : memory_(std::make_unique<std::byte[]>(frame.size() + 1)), size_(frame.size()) {
        std::copy(frame.begin(), frame.end(), memory_.get() + 1);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get() + 1, size_}; }

private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_;
};

/// Fields full of old values, as on the packet path.
inline PacketFields old_fields() {
    static constexpr std::array<std::byte, 64> kOldBytes{};
    PacketFields fields;
    fields.source.fill(std::byte{0xee});
    fields.destination.fill(std::byte{0xee});
    fields.source_port = fields.destination_port = {0xeeee};
    fields.ip_bytes = fields.fragment_id = fields.flow_label = fields.tunnel.id = 0xeeee'eeee;
    fields.tcp_control_bits = 0xeeee;
    fields.outer_vlan = fields.customer_vlan = {0xeeee};
    fields.vlan_tags = fields.ip_version = fields.protocol = fields.mpls_labels = 0xee;
    fields.ip_class_of_service = fields.ttl = fields.fragment_flags = 0xee;
    fields.is_later_fragment = true;
    fields.cut_header = CutHeader::tunnel_header;
    fields.mac_addresses = fields.mpls_stack = fields.tunnel.addresses = kOldBytes.data();
    fields.tunnel.kind = TunnelKind::gtp_u;
    return fields;
}

/// Equal bytes, or none on both sides.
inline bool same_bytes(const std::byte* a, const std::byte* b, std::size_t size) {
    return (a == nullptr) == (b == nullptr) && (a == nullptr || std::memcmp(a, b, size) == 0);
}

/// Equal but for the place of the frame.
inline bool same(const PacketFields& a, const PacketFields& b) {
    const std::size_t tunnel_addresses = a.tunnel.ip_version == 4 ? 8 : 32;
    return a.source == b.source && a.destination == b.destination &&
           a.source_port == b.source_port && a.destination_port == b.destination_port &&
           a.ip_bytes == b.ip_bytes && a.tcp_control_bits == b.tcp_control_bits &&
           a.outer_vlan == b.outer_vlan && a.customer_vlan == b.customer_vlan &&
           a.vlan_tags == b.vlan_tags && a.ip_version == b.ip_version && a.protocol == b.protocol &&
           a.ip_class_of_service == b.ip_class_of_service && a.ttl == b.ttl &&
           a.fragment_flags == b.fragment_flags && a.is_later_fragment == b.is_later_fragment &&
           a.fragment_id == b.fragment_id && a.flow_label == b.flow_label &&
           a.cut_header == b.cut_header && a.mpls_labels == b.mpls_labels &&
           a.tunnel.kind == b.tunnel.kind && a.tunnel.id == b.tunnel.id &&
           a.tunnel.ip_version == b.tunnel.ip_version &&
           same_bytes(a.mac_addresses, b.mac_addresses, 12) &&
           same_bytes(a.mpls_stack, b.mpls_stack, std::size_t{4} * a.mpls_labels) &&
           same_bytes(a.tunnel.addresses, b.tunnel.addresses, tunnel_addresses);
}

}  // namespace tributary::fuzz
