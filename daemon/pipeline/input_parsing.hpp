// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "daemon/base/options.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// How the frames of an input are parsed.
///
/// @param mode         full or trimmed
/// @param trim_length  octets of a frame that the trimmed path looks at
[[nodiscard]] constexpr ParseOptions parse_options(const FlowCacheOptions& flows, ParseMode mode,
                                                   std::uint16_t trim_length) noexcept {
    ParseOptions options{.tunnel = flows.tunnel,
                         .mac_addresses = flows.mac_addresses,
                         .mpls_pseudowires = flows.mpls_pseudowires,
                         .llc_snap = flows.llc_snap,
                         .tcp_segments = flows.tcp_analysis};
    if (mode == ParseMode::trimmed) {
        options.keep_cut_headers = true;
        options.most_bytes = trim_length;
    }
    return options;
}

}  // namespace tributary
