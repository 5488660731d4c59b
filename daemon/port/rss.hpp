// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/options.hpp"
#include "flowcache/record/options.hpp"

namespace tributary {

/// A Toeplitz key under which both directions of a flow have the same hash: 0x6d5a repeated.
///
/// @source  S. Woo, K. Park, "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling",
/// 2012
[[nodiscard]] std::vector<std::uint8_t> symmetric_rss_key(std::size_t octets);

/// Whether a key makes the Toeplitz hash symmetric: it repeats every 16 bits, so swapped addresses
/// or ports give the same hash.
[[nodiscard]] bool is_symmetric_rss_key(std::span<const std::uint8_t> key);

/// The RTE_ETH_RSS_* bits to request from a NIC. With `ip`, NICs that choose the hash by the whole
/// packet type (i40e and similar) leave TCP and UDP on one queue; the report's text shows the bits
/// in effect.
[[nodiscard]] std::uint64_t rss_types(RssMode mode);

/// Names of RTE_ETH_RSS_* bits as testpmd writes them, comma-separated; other bits as one
/// hexadecimal number.
[[nodiscard]] std::string rss_type_names(std::uint64_t types);

/// A port's report on its RSS after start.
struct RssFacts {
    std::string driver;  ///< DPDK's driver name
    std::uint16_t queues = 1;
    std::uint64_t asked = 0;  ///< requested types; 0: the driver offers none
    bool readable = false;    ///< the driver reports the types in effect
    std::uint64_t in_effect = 0;
    std::vector<std::uint8_t> key;  ///< in effect
};

struct RssReport {
    bool symmetric =
        false;         ///< both directions of a flow reach one queue, as far as the driver reports
    std::string text;  ///< one line for the log, without the input's name
    bool by_ports = false;  ///< packets are spread by their ports too, as far as the driver reports
};

/// Describes how packets are spread over a port's queues.
///
/// @thread  any; pure
[[nodiscard]] RssReport report_rss(const RssFacts& facts);

/// Warns of an input that may split the two directions of a biflow into two records.
///
/// @param report  of the input's port
/// @return        a line for the log; nullopt: both directions come to one queue, or no biflows are
///                metered
/// @thread        any; pure
[[nodiscard]] std::optional<std::string> biflow_warning(const InputOptions& input,
                                                        const FlowCacheOptions& flows,
                                                        const RssReport& report);

}  // namespace tributary
