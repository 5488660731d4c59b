// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/yaml_tree.hpp"

// Whether text can be the name of something outside; whether it exists is found out at start.

namespace tributary {

/// Octets of a text that has no limit of its own.
inline constexpr std::size_t kLongestText = 255;

/// At most `longest` octets without control characters.
[[nodiscard]] bool is_printable(std::string_view text, std::size_t longest = kLongestText);

/// Always; for text that may be anything.
[[nodiscard]] bool is_any_text(std::string_view text);

/// Without a blank, as a host name or an address is; or nothing at all.
[[nodiscard]] bool is_word_or_empty(std::string_view text);

/// An IPv4 address, an IPv6 address with or without its zone, or what can be a name; or nothing at
/// all. What has colons or only digits and dots is an address, or a mistake.
[[nodiscard]] bool is_host_or_empty(std::string_view text);
/// @return  where the port and the transport belong that stand beside a host, as in HOST:PORT and
///          tcp://HOST:PORT; empty: they do not
[[nodiscard]] std::string advice_on_host(std::string_view text);

/// An IPv4 or IPv6 address; or nothing at all.
[[nodiscard]] bool is_ip_address_or_empty(std::string_view text);

/// A PCI address, af_packet:IFNAME, af_xdp:IFNAME, or a vdev string of one of DPDK's network
/// drivers; each but the first two with arguments after a comma, if any.
[[nodiscard]] bool is_device(std::string_view text);
/// What was probably meant by text that is no device: an interface of the kernel. Empty: unknown.
[[nodiscard]] std::string device_like(std::string_view text);

/// An IPv4 ADDRESS:PORT; or nothing at all.
[[nodiscard]] bool is_listen_address_or_empty(std::string_view text);

/// `auto` (no core), one core, or a list of cores.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> parse_cores(const YamlNode& node);

}  // namespace tributary
