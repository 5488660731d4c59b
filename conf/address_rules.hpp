// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conf/yaml_tree.hpp"

// The form of names and addresses; whether they exist is checked at start.

namespace tributary {

/// Octets of a text without a limit of its own.
inline constexpr std::size_t kLongestText = 255;

/// At most `longest` octets without control characters.
[[nodiscard]] bool is_printable(std::string_view text, std::size_t longest = kLongestText);

/// What is_printable() refuses; empty: nothing.
[[nodiscard]] std::string unprintable_in(std::string_view text, std::size_t longest);

/// Always true; for unrestricted text.
[[nodiscard]] bool is_any_text(std::string_view text);

/// Without a blank, like a host name or an address; or empty.
[[nodiscard]] bool is_word_or_empty(std::string_view text);

/// An IPv4 address, an IPv6 address with or without its zone, or a possible name; or empty. Text
/// with colons, or of only digits and dots, is an address or a mistake.
[[nodiscard]] bool is_host_or_empty(std::string_view text);
/// @return  the keys for port and transport in texts such as HOST:PORT and tcp://HOST:PORT; empty:
///          neither is there
[[nodiscard]] std::string advice_on_host(std::string_view text);

/// An IPv4 or IPv6 address; or empty.
[[nodiscard]] bool is_ip_address_or_empty(std::string_view text);

/// A PCI address, af_packet:IFNAME, af_xdp:IFNAME, or a vdev string of one of DPDK's network
/// drivers; each but the first two with arguments after a comma, if any.
[[nodiscard]] bool is_device(std::string_view text);
/// The probable meaning of text that is no device: an interface of the kernel. Empty: unknown.
[[nodiscard]] std::string device_like(std::string_view text);

/// Brokers of a Kafka cluster, HOST:PORT or HOST, separated by commas, an IPv6 address in brackets;
/// or empty.
[[nodiscard]] bool is_broker_list_or_empty(std::string_view text);
/// @return  the list without blanks and empty items; empty: that is not what is wrong
[[nodiscard]] std::string broker_list_like(std::string_view text);
/// @return  what to do about a URL or an IPv6 address without brackets; empty: neither is there
[[nodiscard]] std::string advice_on_brokers(std::string_view text);
/// The brokers of such a list, each once, in an order of their own: in small letters, with a port.
[[nodiscard]] std::set<std::string> brokers_in(std::string_view list);

/// A name that a topic of Kafka can have; or empty.
/// @source  Apache Kafka, org.apache.kafka.common.internals.Topic
[[nodiscard]] bool is_topic_or_empty(std::string_view text);

/// An IPv4 ADDRESS:PORT; or empty.
[[nodiscard]] bool is_listen_address_or_empty(std::string_view text);

/// `auto` (no core), one core, or a list of cores.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> parse_cores(const YamlNode& node);

}  // namespace tributary
