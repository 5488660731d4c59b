// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "daemon/base/options.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// What a recorder keeps of the frames of a queue.
struct RecorderRules {
    /// Of a frame without a metered packet, and of a packet whose transport header is unknown, with
    /// SnapMode::headers or beyond the cut-off.
    static constexpr std::uint32_t kUnknownHeaders = 128;

    SnapMode snap = SnapMode::full;
    std::uint32_t snap_octets = 0;  ///< SnapMode::octets
    /// Octets of payload that are kept of each direction of a flow, and headers alone after them;
    /// 0: all.
    std::uint32_t cutoff = 0;
    bool all_frames = false;  ///< also those that the input's filter or sampling left out
    ParseOptions parse;       ///< with which the packets were parsed
};

}  // namespace tributary
