// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "export/latency_histogram.hpp"

namespace tributary {

/// Figures of a collector beside its account.
struct CollectorFigures {
    std::string name;  ///< as in the ledger
    LatencyHistogram::Reading latency;
    std::uint64_t spool_max_octets{};  ///< 0: no spool
};

}  // namespace tributary
