// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/machine/memory_part.hpp"
#include "daemon/machine/node_heap.hpp"
#include "daemon/pipeline/collector_figures.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "daemon/pipeline/thread_load.hpp"
#include "daemon/port/port_link.hpp"
#include "daemon/telemetry/helper_figures.hpp"

namespace tributary {

/// Figures of an input beside its NIC's counters.
struct InputFigures {
    std::string name;  ///< as in the ledger
    LinkState link{};
};

/// Figures of a running probe beside its ledger.
struct ProbeFigures {
    std::vector<RingFill> rings;  ///< of the ledger's queues
    std::vector<const ThreadLoad*> threads;
    std::vector<CollectorFigures> collectors{};  ///< the present ones
    std::vector<InputFigures> inputs{};          ///< of the ledger's ports
    std::vector<HeapUse> heap{};                 ///< by NUMA node
    std::vector<HelperFigures> helpers{};        ///< all threads beside `threads`
    std::vector<MemoryPart> memory{};            ///< outside the heap
    std::uint64_t max_flows{};                   ///< of each queue
    std::chrono::sys_seconds started{};
    std::string version;
    std::chrono::sys_seconds now{};          ///< when these figures were read
    std::chrono::nanoseconds host_uptime{};  ///< at the same time; it is never set
};

/// Ledger and figures in Prometheus's text format. Names begin with `tributary_`, octets are called
/// bytes, and counts per queue have the labels `input` and `queue`. Those of a further table, whose
/// names begin with `tributary_table_`, have the label `table`.
///
/// @source  https://prometheus.io/docs/practices/naming, exposition format 0.0.4
[[nodiscard]] std::string to_prometheus(const Ledger& ledger, const ProbeFigures& figures);

}  // namespace tributary
