// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

// Frames for tests, one call per header, outermost first:
//
//     const Frame frame = ethernet().vlan(5).ipv4({.ttl = 9}).udp(1000, 53).payload(20).build();
//     parse_packet(frame.view(), {}, fields);
//
// Each header sets the type field of the one before it, and build() fills in the lengths. An
// explicit value in a header's struct stays, right or wrong. Checksums are zero.
namespace tributary::test {

/// The address in a text such as "192.0.2.1" or "2001:db8::1".
inline IpAddress ip_address(const std::string& text) {
    IpAddress address{};
    const int family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
    if (inet_pton(family, text.c_str(), address.data()) != 1) {
        throw std::invalid_argument("not an IP address: " + text);
    }
    return address;
}

using MacAddress = std::array<std::uint8_t, 6>;
inline constexpr MacAddress kDestinationMac{0x02, 0, 0, 0, 0, 0x0d};
inline constexpr MacAddress kSourceMac{0x02, 0, 0, 0, 0, 0x05};

struct Ipv4Header {
    std::string source = "192.0.2.1";
    std::string destination = "198.51.100.2";
    std::uint8_t type_of_service = 0;
    std::uint8_t ttl = 64;
    std::uint16_t fragment_offset = 0;  ///< in units of 8 bytes
    bool more_fragments = false;
    std::size_t option_bytes = 0;  ///< No-Operation options; a multiple of 4
    std::uint8_t version = 4;
    std::optional<std::uint8_t> header_words{};  ///< IHL
    std::optional<std::uint16_t> total_bytes{};
    std::optional<std::uint8_t> protocol{};
    std::uint16_t identification = 0;
    bool dont_fragment = false;
};

struct Ipv6Header {
    std::string source = "2001:db8::1";
    std::string destination = "2001:db8::2";
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    std::uint32_t flow_label = 0;
    std::uint8_t version = 6;
    std::optional<std::uint16_t> payload_bytes{};
    std::optional<std::uint8_t> next_header{};
};

struct GreHeader {
    bool checksum = false;
    std::optional<std::uint32_t> key{};
    bool sequence = false;
    std::uint16_t more_flags = 0;  ///< routing (0x4000), version (0x0007)
};

/// A built frame with its metadata.
struct Frame {
    std::vector<std::byte> captured;
    std::uint32_t wire_bytes{};

    /// Borrows this frame. Times and interface are zero: set them in the view.
    [[nodiscard]] PacketView view() const {
        return {.captured = captured,
                .wire_bytes = wire_bytes,
                .link_type = LinkType::ethernet,
                .ingress_interface = {},
                .seen_at = {},
                .clock = {}};
    }
    /// The same frame, captured with this snap length.
    [[nodiscard]] Frame cut(std::size_t captured_bytes) const {
        const auto size = static_cast<std::ptrdiff_t>(std::min(captured_bytes, captured.size()));
        // An allocation of exactly this size: the sanitizers see each read past it.
        return {.captured = {captured.begin(), captured.begin() + size}, .wire_bytes = wire_bytes};
    }
};

class PacketBuilder {
public:
    /// @param tag_control_information  VLAN id in the low 12 bits
    PacketBuilder& vlan(std::uint16_t tag_control_information, std::uint16_t tpid = 0x8100) {
        ethertype(tpid);
        append(tag_control_information, 2);
        return reserve_ethertype();
    }
    /// Sets the ethertype; the caller adds the next bytes.
    PacketBuilder& ethertype(std::uint16_t type) {
        if (ethertype_at_) {
            put(*ethertype_at_, type, 2);
        }
        ethertype_at_.reset();
        return *this;
    }

    PacketBuilder& ipv4(const Ipv4Header& header = {}) {
        ethertype(0x0800);
        announce(4);
        const std::size_t at = bytes_.size();
        const std::size_t words = header.header_words.value_or((20 + header.option_bytes) / 4);
        append(std::size_t{header.version} << 4U | words, 1);
        append(header.type_of_service, 1);
        reserve_length(header.total_bytes, at);
        append(header.identification, 2);
        append((header.dont_fragment ? 0x4000U : 0U) | (header.more_fragments ? 0x2000U : 0U) |
                   header.fragment_offset,
               2);
        append(header.ttl, 1);
        reserve_protocol(header.protocol);
        append(0, 2);
        append_address(header.source, 4);
        append_address(header.destination, 4);
        return bytes(header.option_bytes, 1);
    }
    PacketBuilder& ipv6(const Ipv6Header& header = {}) {
        ethertype(0x86dd);
        announce(41);
        const std::size_t at = bytes_.size();
        append(std::size_t{header.version} << 28U | std::size_t{header.traffic_class} << 20U |
                   header.flow_label,
               4);
        reserve_length(header.payload_bytes, at + 40);
        reserve_protocol(header.next_header);
        append(header.hop_limit, 1);
        append_address(header.source, 16);
        append_address(header.destination, 16);
        return *this;
    }

    /// An IPv6 extension header, filled with zeros (Pad1 for options).
    /// @param size  bytes, a multiple of 8, and for the Authentication Header (51) of 4
    PacketBuilder& extension(std::uint8_t protocol, std::size_t size) {
        announce(protocol);
        reserve_protocol({});
        append(protocol == 51 ? size / 4 - 2 : size / 8 - 1, 1);
        return bytes(size - 2);
    }
    /// A fragment header (RFC 8200 §4.5). @param offset  in units of 8 bytes
    PacketBuilder& fragment(std::uint16_t offset, bool more) {
        announce(44);
        reserve_protocol({});
        append(0, 1);
        append(std::size_t{offset} << 3U | (more ? 1U : 0U), 2);
        append(0x1234'5678, 4);
        return *this;
    }
    /// A hop-by-hop header with just the Jumbo Payload option (RFC 2675 §2).
    PacketBuilder& jumbo(std::uint32_t payload_bytes) {
        announce(0);
        reserve_protocol({});
        append(0x00c204, 3);
        append(payload_bytes, 4);
        return *this;
    }

    PacketBuilder& tcp(std::uint16_t source_port, std::uint16_t destination_port,
                       std::uint16_t control_bits = tcp_flag::kAck, std::uint16_t window = 0) {
        ports(ip_protocol::kTcp, source_port, destination_port);
        append(0, 8);
        append(0x5000U | control_bits, 2);
        append(window, 2);
        return bytes(4);
    }
    PacketBuilder& udp(std::uint16_t source_port, std::uint16_t destination_port) {
        const std::size_t at = bytes_.size();
        ports(ip_protocol::kUdp, source_port, destination_port);
        reserve_length({}, at);
        return bytes(2);
    }
    /// A protocol that begins with its ports (UDP-Lite, DCCP, SCTP): only these four bytes.
    PacketBuilder& ports(std::uint8_t protocol, std::uint16_t source_port,
                         std::uint16_t destination_port) {
        announce(protocol);
        append(source_port, 2);
        append(destination_port, 2);
        return *this;
    }
    PacketBuilder& icmp(std::uint8_t type, std::uint8_t code) {
        return type_and_code(ip_protocol::kIcmp, type, code);
    }
    PacketBuilder& icmp_v6(std::uint8_t type, std::uint8_t code) {
        return type_and_code(ip_protocol::kIcmpV6, type, code);
    }

    /// An MPLS label stack entry; no field names the protocol after the bottom one.
    PacketBuilder& mpls(std::uint32_t label, bool bottom = true) {
        ethertype(0x8847);
        append(std::size_t{label} << 12U | (bottom ? 0x100U : 0U) | 64U, 4);
        return *this;
    }
    /// A PPPoE session header and a PPP protocol number of two octets.
    PacketBuilder& pppoe(std::uint16_t ppp_protocol) {
        ethertype(0x8864);
        bytes({0x11, 0x00, 0x00, 0x01, 0x00, 0x00});
        append(ppp_protocol, 2);
        return *this;
    }
    /// LLC and SNAP headers after an 802.3 length field.
    PacketBuilder& snap() {
        ethertype(100);
        bytes({0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00});
        return reserve_ethertype();
    }
    /// A GRE header with the given fields. An Ethernet frame inside begins with inner_ethernet().
    PacketBuilder& gre(const GreHeader& header = {}) {
        announce(ip_protocol::kGre);
        append((header.checksum ? 0x8000U : 0U) | (header.key ? 0x2000U : 0U) |
                   (header.sequence ? 0x1000U : 0U) | header.more_flags,
               2);
        reserve_ethertype();
        bytes(header.checksum ? 4 : 0, 0xcc);
        if (header.key) {
            append(*header.key, 4);
        }
        return bytes(header.sequence ? 4 : 0, 0x55);
    }
    /// UDP to port 4789 with a VXLAN header; inner_ethernet() comes next.
    PacketBuilder& vxlan(std::uint32_t vni, std::uint8_t flags = 0x08) {
        udp(50'000, 4789);
        append(std::size_t{flags} << 24U, 4);
        append(std::size_t{vni} << 8U, 4);
        return *this;
    }
    /// UDP to port 6081 with a GENEVE header and this many octets of options, a multiple of 4.
    PacketBuilder& geneve(std::uint32_t vni, std::size_t option_bytes = 0) {
        udp(50'000, 6081);
        append(option_bytes / 4, 1);
        append(0, 1);
        reserve_ethertype();
        append(std::size_t{vni} << 8U, 4);
        return bytes(option_bytes, 0xee);
    }
    /// UDP to port 2152 with the first eight octets of GTP-U.
    PacketBuilder& gtp_u(std::uint32_t teid, std::uint8_t flags = 0x30, std::uint8_t type = 0xff) {
        udp(2152, 2152);
        append(flags, 1);
        append(type, 1);
        append(0, 2);
        append(teid, 4);
        return *this;
    }
    /// An Ethernet header inside a tunnel or a pseudo-wire.
    PacketBuilder& inner_ethernet(const MacAddress& destination = {0x06, 0, 0, 0, 0, 0x0d},
                                  const MacAddress& source = {0x06, 0, 0, 0, 0, 0x05}) {
        ethertype(0x6558);
        for (const MacAddress& address : {destination, source}) {
            for (const std::uint8_t value : address) {
                append(value, 1);
            }
        }
        return reserve_ethertype();
    }

    PacketBuilder& payload(std::size_t size) { return bytes(size); }
    PacketBuilder& bytes(std::size_t size, std::uint8_t value = 0) {
        bytes_.resize(bytes_.size() + size, std::byte{value});
        return *this;
    }
    PacketBuilder& bytes(std::initializer_list<std::uint8_t> values) {
        for (const std::uint8_t value : values) {
            append(value, 1);
        }
        return *this;
    }
    /// Bytes after the IP packet, as Ethernet pads short frames; no length counts them.
    PacketBuilder& padding(std::size_t size) {
        fill_in_lengths();
        return bytes(size);
    }

    [[nodiscard]] Frame build() {
        fill_in_lengths();
        return {.captured = bytes_, .wire_bytes = static_cast<std::uint32_t>(bytes_.size())};
    }

private:
    friend PacketBuilder ethernet(const MacAddress& destination, const MacAddress& source);

    struct LengthField {
        std::size_t at;
        std::size_t counted_from;
    };

    void put(std::size_t at, std::size_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            bytes_.at(at + i) = static_cast<std::byte>(value >> 8U * (size - 1 - i));
        }
    }
    void append(std::size_t value, std::size_t size) {
        bytes(size);
        put(bytes_.size() - size, value, size);
    }
    void append_address(const std::string& text, std::ptrdiff_t size) {
        const IpAddress address = ip_address(text);
        bytes_.insert(bytes_.end(), address.begin(), address.begin() + size);
    }
    PacketBuilder& reserve_ethertype() {
        ethertype_at_ = bytes_.size();
        return bytes(2);
    }
    void reserve_protocol(std::optional<std::uint8_t> named) {
        protocol_at_.reset();
        if (!named) {
            protocol_at_ = bytes_.size();
        }
        // IPv6-NoNxt (RFC 8200 §4.7) without a next header.
        append(named.value_or(59), 1);
    }
    void reserve_length(std::optional<std::uint16_t> named, std::size_t counted_from) {
        if (!named) {
            lengths_.push_back({.at = bytes_.size(), .counted_from = counted_from});
        }
        append(named.value_or(0), 2);
    }
    void announce(std::uint8_t protocol) {
        if (protocol_at_) {
            put(*protocol_at_, protocol, 1);
        }
        protocol_at_.reset();
    }
    PacketBuilder& type_and_code(std::uint8_t protocol, std::uint8_t type, std::uint8_t code) {
        announce(protocol);
        append(type, 1);
        append(code, 1);
        return bytes(6);
    }
    void fill_in_lengths() {
        for (const LengthField& field : lengths_) {
            put(field.at, bytes_.size() - field.counted_from, 2);
        }
        lengths_.clear();
    }

    std::vector<std::byte> bytes_;
    std::optional<std::size_t> ethertype_at_;
    std::optional<std::size_t> protocol_at_;
    std::vector<LengthField> lengths_;
};

/// Begins a frame. Its ethertype is 0 until a header sets it.
inline PacketBuilder ethernet(const MacAddress& destination = kDestinationMac,
                              const MacAddress& source = kSourceMac) {
    PacketBuilder builder;
    for (const MacAddress& address : {destination, source}) {
        for (const std::uint8_t value : address) {
            builder.append(value, 1);
        }
    }
    builder.reserve_ethertype();
    return builder;
}

}  // namespace tributary::test
