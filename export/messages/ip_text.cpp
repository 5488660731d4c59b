// SPDX-License-Identifier: Apache-2.0
#include "export/messages/ip_text.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace tributary {
namespace {

struct ProtocolName {
    std::uint8_t number;
    std::string_view name;
};
// The frequent ones, in our own table: /etc/protocols is missing on small systems.
constexpr std::array<ProtocolName, 21> kFrequentProtocols{{
    {1, "ICMP"},    {2, "IGMP"},   {4, "IPIP"},      {6, "TCP"},      {8, "EGP"},   {17, "UDP"},
    {33, "DCCP"},   {41, "IPv6"},  {46, "RSVP"},     {47, "GRE"},     {50, "ESP"},  {51, "AH"},
    {58, "ICMPv6"}, {88, "EIGRP"}, {89, "OSPF"},     {97, "EtherIP"}, {103, "PIM"}, {112, "VRRP"},
    {115, "L2TP"},  {132, "SCTP"}, {136, "UDPLite"},
}};

struct TunnelName {
    TunnelKind kind;
    std::string_view name;
};
constexpr std::array<TunnelName, 6> kTunnelNames{{
    {TunnelKind::ip_in_ip, "IP-in-IP"},
    {TunnelKind::gre, "GRE"},
    {TunnelKind::erspan, "ERSPAN"},
    {TunnelKind::vxlan, "VXLAN"},
    {TunnelKind::geneve, "GENEVE"},
    {TunnelKind::gtp_u, "GTP-U"},
}};

bool same_letters(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

}  // namespace

std::string address_text(std::span<const std::byte> address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text.data(), text.size());
    return text.data();
}

std::string protocol_text(std::uint8_t protocol) {
    const auto* const found =
        std::find_if(kFrequentProtocols.begin(), kFrequentProtocols.end(),
                     [protocol](const ProtocolName& known) { return known.number == protocol; });
    return found != kFrequentProtocols.end() ? std::string(found->name) : std::to_string(protocol);
}

std::optional<std::uint8_t> parse_protocol(std::string_view text) {
    for (const ProtocolName& known : kFrequentProtocols) {
        if (same_letters(text, known.name)) {
            return known.number;
        }
    }
    const std::optional<std::uint32_t> number = parse_number(text, 255);
    return number ? std::optional(static_cast<std::uint8_t>(*number)) : std::nullopt;
}

std::string tunnel_kind_text(TunnelKind kind) {
    for (const TunnelName& known : kTunnelNames) {
        if (known.kind == kind) {
            return std::string(known.name);
        }
    }
    return "tunnel type " + std::to_string(static_cast<unsigned>(kind));
}

std::optional<TunnelKind> parse_tunnel_kind(std::string_view text) {
    for (const TunnelName& known : kTunnelNames) {
        if (same_letters(text, known.name)) {
            return known.kind;
        }
    }
    return std::nullopt;
}

std::optional<std::uint32_t> parse_number(std::string_view text, std::uint32_t maximum) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value > maximum) {
        return std::nullopt;
    }
    return value;
}

}  // namespace tributary
