// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowcache/record/flow_hasher.hpp"

namespace tributary {

/// The hashes of the flow that a filter asks for, if it is one that names both its ends: terms
/// joined by `and`, with two addresses and two ports, such as
///
///     tcp and host 192.0.2.9 and host 198.51.100.2 and port 443 and port 50000
///
/// Each frame that matches, and whose metered packet is its outermost, has one of these hashes.
///
/// @param filter  in pcap syntax, which libpcap accepts
/// @param hasher  of the recorder's stages
/// @return        symmetric_hash() of each possible protocol and each order of the ports; empty:
///                another filter
/// @errors        std::bad_alloc
[[nodiscard]] std::vector<std::uint32_t> hashes_of_asked_flow(const std::string& filter,
                                                              const FlowHasher& hasher);

}  // namespace tributary
