// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/machine/node_heap.hpp"
#include "daemon/pipeline/collector_figures.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "daemon/pipeline/thread_load.hpp"
#include "daemon/port/port_link.hpp"

namespace tributary {

/// What it tells of an input beside what its NIC has dropped.
struct InputFigures {
    std::string name;  ///< as in the ledger
    LinkState link{};
};

/// What a running probe tells beside its ledger.
struct ProbeFigures {
    std::vector<RingFill> rings;  ///< of the ledger's queues
    std::vector<const ThreadLoad*> threads;
    std::vector<CollectorFigures> collectors{};  ///< those of now
    std::vector<InputFigures> inputs{};          ///< of the ledger's ports
    std::vector<HeapUse> heap{};                 ///< by NUMA node
    std::uint64_t max_flows{};                   ///< of each queue
    std::chrono::sys_seconds started{};
    std::string version;
    std::chrono::sys_seconds now{};          ///< when these figures were read
    std::chrono::nanoseconds host_uptime{};  ///< the same; it is never set
};

/// Ledger and figures in Prometheus's text format. Names begin with `tributary_`, octets are bytes,
/// and what is counted per queue has the labels `input` and `queue`.
///
/// @source  https://prometheus.io/docs/practices/naming, exposition format 0.0.4
[[nodiscard]] std::string to_prometheus(const Ledger& ledger, const ProbeFigures& figures);

}  // namespace tributary
