// SPDX-License-Identifier: Apache-2.0
#include "conf/address_rules.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "conf/scalars.hpp"
#include "flowcache/table/closest.hpp"

namespace tributary {
namespace {

constexpr std::uint64_t kKafkaPort = 9092;  ///< librdkafka's, where none is given
constexpr std::size_t kLongestTopic = 249;

constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool is_hex(std::string_view text, std::size_t least, std::size_t most) {
    return text.size() >= least && text.size() <= most &&
           text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

/// A name that the kernel accepts for an interface.
bool is_interface(std::string_view text) {
    constexpr std::size_t kLongestName = 15;  // IFNAMSIZ - 1
    return !text.empty() && text.size() <= kLongestName && text != "." && text != ".." &&
           text.find_first_of(" ,/:") == std::string_view::npos;
}

/// `[domain:]bus:device.function`, as lspci writes it.
bool is_pci_address(std::string_view text) {
    const std::size_t dot = text.find('.');
    const std::size_t colon = text.substr(0, dot).rfind(':');
    if (dot == std::string_view::npos || colon == std::string_view::npos) {
        return false;
    }
    const std::string_view function = text.substr(dot + 1);
    std::string_view bus = text.substr(0, colon);
    if (const std::size_t domain = bus.find(':'); domain != std::string_view::npos) {
        if (!is_hex(bus.substr(0, domain), 4, 8)) {
            return false;
        }
        bus = bus.substr(domain + 1);
    }
    return is_hex(bus, 2, 2) && is_hex(text.substr(colon + 1, dot - colon - 1), 2, 2) &&
           function.size() == 1 && function.front() >= '0' && function.front() <= '7';
}

/// The prefixes of DPDK's virtual network devices. A kernel interface's name, a common mistake, has
/// none of them.
bool is_vdev_name(std::string_view text) {
    constexpr std::array<std::string_view, 3> kPrefixes{"net_", "eth_", "virtio_user"};
    return text.find_first_not_of(kNameLetters) == std::string_view::npos &&
           std::any_of(kPrefixes.begin(), kPrefixes.end(), [text](std::string_view prefix) {
               return text.starts_with(prefix) && text != "net_" && text != "eth_";
           });
}

constexpr std::uint64_t kHighestPort = std::numeric_limits<std::uint16_t>::max();

std::vector<std::string_view> items_of(std::string_view list) {
    std::vector<std::string_view> items;
    for (std::size_t comma = list.find(','); comma != std::string_view::npos;
         comma = list.find(',')) {
        items.push_back(list.substr(0, comma));
        list.remove_prefix(comma + 1);
    }
    items.push_back(list);
    return items;
}

/// @return  nullopt: no broker
std::optional<HostAndPort> broker_of(std::string_view text) {
    auto parts = split_host_and_port(text);
    if (!parts || !is_host_or_empty(parts->host)) {
        return std::nullopt;
    }
    const bool is_ipv6 = parts->host.find(':') != std::string::npos;
    const auto port = parts->port.empty() ? kKafkaPort : parse_whole(parts->port);
    const bool has_good_port = port && *port >= 1 && *port <= kHighestPort;
    if (text.starts_with('[') != is_ipv6 || !has_good_port) {
        return std::nullopt;
    }
    parts->port = std::to_string(*port);
    return parts;
}

}  // namespace

bool is_printable(std::string_view text, std::size_t longest) {
    return text.size() <= longest && count_text_bytes(text) == text.size() &&
           text.find_first_of("\t\r\n") == std::string_view::npos;
}

std::string unprintable_in(std::string_view text, std::size_t longest) {
    if (text.size() > longest) {
        return "it has " + std::to_string(text.size()) + " octets, more than " +
               std::to_string(longest);
    }
    if (text.find_first_of("\r\n") != std::string_view::npos) {
        return "it has a line end";
    }
    if (text.find('\t') != std::string_view::npos) {
        return "it has a tab";
    }
    return is_printable(text, longest) ? "" : "it has a control character";
}

bool is_any_text(std::string_view /*text*/) { return true; }

bool is_word_or_empty(std::string_view text) { return text.find(' ') == std::string_view::npos; }

bool is_ip_address_or_empty(std::string_view text) {
    const std::string address(text);
    std::array<std::byte, sizeof(in6_addr)> bytes{};
    return text.empty() || ::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1 ||
           ::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1;
}

bool is_host_or_empty(std::string_view text) {
    constexpr std::string_view kHostLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    if (text.find(':') != std::string_view::npos) {
        const std::string_view address = text.substr(0, text.find('%'));
        return !address.empty() && is_ip_address_or_empty(address);
    }
    const bool is_number = text.find_first_not_of("0123456789.") == std::string_view::npos;
    return is_number ? is_ip_address_or_empty(text)
                     : text.find_first_not_of(kHostLetters) == std::string_view::npos;
}

std::string advice_on_host(std::string_view text) {
    const std::size_t slashes = text.find("://");
    const bool has_transport = slashes != std::string_view::npos && slashes != 0;
    const std::string transport(has_transport ? text.substr(0, slashes) : std::string_view());
    const auto parts = split_host_and_port(has_transport ? text.substr(slashes + 3) : text);
    if (!parts || !is_host_or_empty(parts->host) || (!has_transport && parts->port.empty())) {
        return {};
    }
    std::string keys = has_transport ? "transport: " + transport + ", " : "";
    keys +=
        "host: " + (parts->host.find(':') == std::string::npos ? parts->host : quoted(parts->host));
    keys += parts->port.empty() ? "" : ", port: " + parts->port;
    const std::string moved = parts->port.empty() ? "transport is a key of its own"
                              : has_transport     ? "transport and port are keys of their own"
                                                  : "port is a key of its own";
    return moved + ": " + keys;
}

bool is_device(std::string_view text) {
    for (const std::string_view scheme : {"af_packet:", "af_xdp:"}) {
        if (text.starts_with(scheme)) {
            return is_interface(text.substr(scheme.size()));
        }
    }
    const std::string_view name = text.substr(0, text.find(','));
    return is_pci_address(name) || is_vdev_name(name);
}

std::string device_like(std::string_view text) {
    return is_interface(text) ? "af_packet:" + std::string(text) : std::string();
}

bool is_broker_list_or_empty(std::string_view text) {
    return text.empty() || std::ranges::all_of(items_of(text), [](std::string_view item) {
               return broker_of(item).has_value();
           });
}

std::string broker_list_like(std::string_view text) {
    std::string bare(text);
    std::erase(bare, ' ');
    std::string list;
    for (const std::string_view item : items_of(bare)) {
        list += item.empty() ? "" : (list.empty() ? "" : ",") + std::string(item);
    }
    return list;
}

std::string advice_on_brokers(std::string_view text) {
    if (text.find("://") != std::string_view::npos) {
        return "brokers have no SCHEME:// in front: properties has security.protocol";
    }
    const bool has_bare_ipv6 = std::ranges::any_of(items_of(text), [](std::string_view item) {
        return !item.starts_with('[') && std::ranges::count(item, ':') > 1;
    });
    return has_bare_ipv6 ? "an IPv6 address stands in brackets: [2001:db8::1]:9092" : "";
}

std::set<std::string> brokers_in(std::string_view list) {
    std::set<std::string> brokers;
    for (const std::string_view item : items_of(list)) {
        if (const auto broker = broker_of(item)) {
            brokers.insert(in_small_letters(broker->host) + " " + broker->port);
        }
    }
    return brokers;
}

bool is_topic_or_empty(std::string_view text) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return text.size() <= kLongestTopic && text != "." && text != ".." &&
           text.find_first_not_of(kLetters) == std::string_view::npos;
}

bool is_listen_address_or_empty(std::string_view text) {
    const auto parts = split_host_and_port(text);
    if (!parts) {
        return text.empty();
    }
    in_addr address{};
    if (::inet_pton(AF_INET, std::string(parts->host).c_str(), &address) != 1) {
        return false;
    }
    const auto port = parse_whole(parts->port);
    return port && *port >= 1 && *port <= kHighestPort;
}

std::optional<std::vector<std::uint32_t>> parse_cores(const YamlNode& node) {
    constexpr std::uint64_t kHighestCore = 4095;
    if (node.kind == YamlNode::Kind::scalar && node.text == "auto") {
        return std::vector<std::uint32_t>();
    }
    std::vector<std::uint32_t> cores;
    const auto add = [&cores](const YamlNode& item) {
        const auto core = parse_whole(item.text);
        if (!core || *core > kHighestCore) {
            return false;
        }
        cores.push_back(static_cast<std::uint32_t>(*core));
        return true;
    };
    if (node.kind == YamlNode::Kind::scalar) {
        return add(node) ? std::optional(cores) : std::nullopt;
    }
    const bool is_good = node.kind == YamlNode::Kind::list && !node.entries.empty() &&
                         std::all_of(node.entries.begin(), node.entries.end(),
                                     [&add](const YamlEntry& entry) { return add(entry.value); });
    return is_good ? std::optional(cores) : std::nullopt;
}

}  // namespace tributary
