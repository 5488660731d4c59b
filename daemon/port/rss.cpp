// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/rss.hpp"

#include <fmt/format.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tributary {
namespace {

struct TypeName {
    std::uint64_t type;
    std::string_view name;
};
constexpr std::array kTypeNames{
    TypeName{RTE_ETH_RSS_IPV4, "ipv4"},
    TypeName{RTE_ETH_RSS_FRAG_IPV4, "ipv4-frag"},
    TypeName{RTE_ETH_RSS_NONFRAG_IPV4_TCP, "ipv4-tcp"},
    TypeName{RTE_ETH_RSS_NONFRAG_IPV4_UDP, "ipv4-udp"},
    TypeName{RTE_ETH_RSS_NONFRAG_IPV4_SCTP, "ipv4-sctp"},
    TypeName{RTE_ETH_RSS_NONFRAG_IPV4_OTHER, "ipv4-other"},
    TypeName{RTE_ETH_RSS_IPV6, "ipv6"},
    TypeName{RTE_ETH_RSS_FRAG_IPV6, "ipv6-frag"},
    TypeName{RTE_ETH_RSS_NONFRAG_IPV6_TCP, "ipv6-tcp"},
    TypeName{RTE_ETH_RSS_NONFRAG_IPV6_UDP, "ipv6-udp"},
    TypeName{RTE_ETH_RSS_NONFRAG_IPV6_SCTP, "ipv6-sctp"},
    TypeName{RTE_ETH_RSS_NONFRAG_IPV6_OTHER, "ipv6-other"},
    TypeName{RTE_ETH_RSS_IPV6_EX, "ipv6-ex"},
    TypeName{RTE_ETH_RSS_IPV6_TCP_EX, "ipv6-tcp-ex"},
    TypeName{RTE_ETH_RSS_IPV6_UDP_EX, "ipv6-udp-ex"},
};

/// Drivers without RSS of their own that fill several queues.
struct OwnSpread {
    std::string_view driver;
    bool symmetric;
    std::string_view text;
};
constexpr std::array kOwnSpreads{
    OwnSpread{"net_af_packet", true,
              "the kernel's fanout hash, symmetric; under overload it may part a flow"},
    OwnSpread{"net_tap", true, "the kernel's flow hash, symmetric"},
    OwnSpread{"net_af_xdp", false, "the NIC's own RSS (see ethtool -x), not checked"},
    OwnSpread{"net_pcap", false,
              "one file per queue; of an interface every queue gets every packet"},
    OwnSpread{"net_ring", false, "the program that fills the rings"},
    OwnSpread{"net_memif", false, "the sender"},
};

constexpr std::uint64_t kL4 = RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;

RssReport report_own_spread(const RssFacts& facts) {
    const auto* const known =
        std::find_if(kOwnSpreads.begin(), kOwnSpreads.end(),
                     [&](const OwnSpread& spread) { return spread.driver == facts.driver; });
    if (known == kOwnSpreads.end()) {
        return {false,
                fmt::format("{} queues, but driver {} offers no RSS by addresses: all packets "
                            "may come to one queue",
                            facts.queues, facts.driver)};
    }
    return {
        known->symmetric,
        fmt::format("{} queues, spread by driver {}: {}", facts.queues, facts.driver, known->text),
        true};
}

}  // namespace

std::vector<std::uint8_t> symmetric_rss_key(std::size_t octets) {
    std::vector<std::uint8_t> key(octets);
    for (std::size_t i = 0; i < octets; ++i) {
        key[i] = i % 2 == 0 ? 0x6D : 0x5A;
    }
    return key;
}

bool is_symmetric_rss_key(std::span<const std::uint8_t> key) {
    if (key.empty() || key.size() % 2 != 0) {
        return false;
    }
    return std::equal(key.begin() + 2, key.end(), key.begin());
}

std::uint64_t rss_types(RssMode mode) {
    return mode == RssMode::ip ? RTE_ETH_RSS_IP : RTE_ETH_RSS_IP | kL4;
}

std::string rss_type_names(std::uint64_t types) {
    std::string names;
    for (const auto& [type, name] : kTypeNames) {
        if ((types & type) != 0) {
            names += names.empty() ? "" : ",";
            names += name;
            types &= ~type;
        }
    }
    if (types != 0) {
        names += fmt::format("{}{:#x}", names.empty() ? "" : ",", types);
    }
    return names.empty() ? "none" : names;
}

RssReport report_rss(const RssFacts& facts) {
    if (facts.queues == 1) {
        return {true, "1 queue"};
    }
    if (facts.asked == 0) {
        return report_own_spread(facts);
    }
    if (!facts.readable) {
        return {false,
                fmt::format("{} queues, RSS by {} asked for; driver {} does not tell what it took",
                            facts.queues, rss_type_names(facts.asked), facts.driver)};
    }
    const bool symmetric = facts.in_effect != 0 && is_symmetric_rss_key(facts.key);
    std::string text =
        fmt::format("{} queues, RSS by {}, {} key", facts.queues, rss_type_names(facts.in_effect),
                    is_symmetric_rss_key(facts.key) ? "symmetric" : "not a symmetric");
    const std::uint64_t refused = facts.asked & ~facts.in_effect;
    if (refused != 0) {
        text += "; not taken: " + rss_type_names(refused);
    }
    return {symmetric, std::move(text), (facts.in_effect & kL4) != 0};
}

std::optional<std::string> biflow_warning(const InputOptions& input, const FlowCacheOptions& flows,
                                          const RssReport& report) {
    // The senders of unified headers choose the queue: the frames' own headers are all alike.
    if (flows.direction == FlowDirection::uniflow || input.queues == 1 ||
        input.parse == ParseMode::unified_header) {
        return std::nullopt;
    }
    const auto parted = [&input](const std::string& why, const std::string& instead) {
        return fmt::format(
            "input {} ({}): the two directions of a flow may come to different queues, and are "
            "then two records instead of one biflow: {}; {}",
            input.name, input.device, why, instead);
    };
    if (!report.symmetric) {
        return parted(report.text, "one queue keeps them together");
    }
    if (flows.tunnel == TunnelMode::inner && report.by_ports) {
        return parted(
            "packets are spread by ports too, and those around VXLAN, GENEVE and GTP-U differ by "
            "direction",
            "one queue keeps them together, or rss: ip where the NIC spreads them");
    }
    return std::nullopt;
}

}  // namespace tributary
