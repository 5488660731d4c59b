// SPDX-License-Identifier: Apache-2.0
#include "export/listing/filter_vocabulary.hpp"

#include <algorithm>
#include <array>

#include "parsers/packet_fields.hpp"

namespace tributary {
namespace {

constexpr std::array<ProtocolWord, 10> kProtocolWords{{
    {"tcp", ip_protocol::kTcp, true},
    {"udp", ip_protocol::kUdp, true},
    {"sctp", ip_protocol::kSctp, true},
    {"icmp", ip_protocol::kIcmp, false},
    {"icmp6", ip_protocol::kIcmpV6, false},
    {"igmp", 2, false},
    {"esp", 50, false},
    {"ah", 51, false},
    {"pim", 103, false},
    {"vrrp", 112, false},
}};

constexpr std::array<std::string_view, 21> kPacketWords{
    "ether",  "link",    "wlan", "arp",     "rarp",      "gateway", "broadcast",
    "less",   "greater", "len",  "inbound", "outbound",  "mpls",    "pppoed",
    "pppoes", "llc",     "stp",  "iso",     "multicast", "ifname",  "protochain"};

struct OtherWord {
    std::string_view word;
    std::string_view meant;
};
constexpr std::array<OtherWord, 18> kOtherWords{{{"size", "octets"},
                                                 {"bytes", "octets"},
                                                 {"byte", "octets"},
                                                 {"octet", "octets"},
                                                 {"pkts", "packets"},
                                                 {"packet", "packets"},
                                                 {"time", "duration"},
                                                 {"ipv4", "ip"},
                                                 {"ipv6", "ip6"},
                                                 {"source", "src"},
                                                 {"dest", "dst"},
                                                 {"destination", "dst"},
                                                 {"sport", "src port"},
                                                 {"dport", "dst port"},
                                                 {"retransmission", "retransmissions"},
                                                 {"duplicate", "duplicates"},
                                                 {"zero-window", "zero-windows"},
                                                 {"protocol", "proto"}}};

}  // namespace

const ProtocolWord* find_protocol_word(std::string_view word) noexcept {
    const auto* const found =
        std::find_if(kProtocolWords.begin(), kProtocolWords.end(),
                     [word](const ProtocolWord& known) { return known.word == word; });
    return found != kProtocolWords.end() ? found : nullptr;
}

bool is_packet_word(std::string_view word) noexcept {
    return word.find('[') != std::string_view::npos ||
           std::find(kPacketWords.begin(), kPacketWords.end(), word) != kPacketWords.end();
}

std::string_view likely_filter_words(std::string_view word) noexcept {
    const auto* const found =
        std::find_if(kOtherWords.begin(), kOtherWords.end(),
                     [word](const OtherWord& other) { return other.word == word; });
    return found != kOtherWords.end() ? found->meant : std::string_view();
}

}  // namespace tributary
