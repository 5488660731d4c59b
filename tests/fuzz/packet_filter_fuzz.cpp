// SPDX-License-Identifier: Apache-2.0
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/filter/packet_filter.hpp"

// The grammar is libpcap's. Fuzzed here is what is ours: link types, byte orders, frames of any
// length, and which of them a mask says to have passed.
//
// Input: an octet that chooses an expression, or says that the text up to the first NUL is one;
// then frames, each behind its link type, what it lacks in captured octets, and its length.

using tributary::LinkType;
using tributary::PacketFilter;
using tributary::PacketMask;
using tributary::PacketView;

// libpcap asks these for names; a fuzzer must not ask a name server.
extern "C" int getaddrinfo(const char* /*node*/, const char* /*service*/,
                           const struct addrinfo* /*hints*/, struct addrinfo** /*found*/) {
    return EAI_NONAME;
}

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

constexpr std::array kExpressions{
    "tcp",
    "ip",
    "ip6",
    "udp port 53 or icmp",
    "vlan 7 and host 192.0.2.1",
    "vlan and vlan and ip6",
    "mpls and ip",
    "pppoes and udp",
    "ether host 02:00:00:00:00:01",
    "tcp[tcpflags] & (tcp-syn | tcp-fin) != 0",
    "ip6 proto 17",
    "ip[2:2] > 576",
    "less 100",
    "greater 1000",
    "geneve and port 80",
    "portrange 1000-2000 and not net 10.0.0.0/8",
    "arp or rarp",
    "len >= 0",
    "ether[0] & 1 != 0",
    "sctp or proto gre",
};

constexpr std::array kLinkTypes{LinkType::ethernet,
                                LinkType::raw_bsd,
                                LinkType::raw_openbsd,
                                LinkType::raw_ip,
                                LinkType::ipv4,
                                LinkType::ipv6,
                                LinkType::null,
                                LinkType::openbsd_loopback,
                                LinkType::linux_sll,
                                LinkType::linux_sll2,
                                LinkType::cisco_hdlc,
                                LinkType::ppp,
                                LinkType::ppp_hdlc,
                                LinkType::pppoe,
                                static_cast<LinkType>(9999)};

using Filters = std::vector<std::unique_ptr<PacketFilter>>;

Filters compiled_expressions() {
    Filters filters;
    for (const char* const expression : kExpressions) {
        filters.push_back(std::make_unique<PacketFilter>(expression));
    }
    return filters;
}

std::vector<PacketView> frames_of(std::span<const std::byte> octets) {
    std::vector<PacketView> frames;
    while (octets.size() >= 3 && frames.size() < 64) {
        const auto link = std::to_integer<std::size_t>(octets[0]);
        const auto missing = std::to_integer<std::uint32_t>(octets[1]);
        const std::size_t length =
            std::min(std::to_integer<std::size_t>(octets[2]), octets.size() - 3);
        PacketView frame;
        frame.captured = octets.subspan(3, length);
        frame.link_type = kLinkTypes.at(link % kLinkTypes.size());
        frame.wire_bytes = static_cast<std::uint32_t>(length) + missing;
        frames.push_back(frame);
        octets = octets.subspan(3 + length);
    }
    return frames;
}

/// Frames together have the verdicts that each has alone.
void check(PacketFilter& filter, std::span<const PacketView> frames) {
    const PacketMask together = filter.select(frames);
    for (std::size_t index = 0; index < frames.size(); ++index) {
        const PacketMask alone = filter.select(frames.subspan(index, 1));
        require(alone <= 1 && (together >> index & 1U) == alone);
        require(frames[index].link_type != static_cast<LinkType>(9999) || alone == 1);
    }
    require(frames.size() == 64 || together >> frames.size() == 0);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Filters filters = compiled_expressions();
    if (size == 0) {
        return 0;
    }
    std::span<const std::byte> octets = std::as_bytes(std::span(data, size)).subspan(1);
    if (data[0] < 0xF0) {
        check(*filters[data[0] % filters.size()], frames_of(octets));
        return 0;
    }
    const std::string all(reinterpret_cast<const char*>(octets.data()), octets.size());
    const std::string expression = all.substr(0, all.find('\0'));
    try {
        PacketFilter filter(expression);
        check(filter, frames_of(octets.subspan(std::min(expression.size() + 1, octets.size()))));
    } catch (const tributary::PacketFilterError&) {
        return 0;
    }
    return 0;
}
