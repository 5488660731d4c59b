// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/ledger.hpp"
#include "daemon/ring_fill.hpp"
#include "daemon/thread_load.hpp"

namespace tributary {

/// What a running probe tells beside its ledger.
struct ProbeFigures {
    std::vector<RingFill> rings;  ///< of the ledger's queues
    std::vector<const ThreadLoad*> threads;
    std::uint64_t max_flows{};  ///< of each queue
    std::chrono::sys_seconds started{};
    std::string version;
};

/// Ledger and figures in Prometheus's text format. Names begin with `tributary_`, octets are bytes,
/// and what is counted per queue has the labels `input` and `queue`.
///
/// @source  https://prometheus.io/docs/practices/naming, exposition format 0.0.4
[[nodiscard]] std::string to_prometheus(const Ledger& ledger, const ProbeFigures& figures);

}  // namespace tributary
