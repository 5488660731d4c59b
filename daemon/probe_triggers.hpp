// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "conf/config.hpp"
#include "daemon/control/control_reply.hpp"
#include "daemon/machine/memory_part.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/recorder/packet_dump.hpp"
#include "daemon/table/declared_table.hpp"
#include "daemon/table/table_set.hpp"
#include "daemon/trigger/flow_triggers.hpp"
#include "daemon/trigger/trigger_dumps.hpp"
#include "daemon/trigger/trigger_set.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/flow_watcher.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/table/own_field.hpp"

namespace tributary {

/// The triggers of a running probe: what looks at the flows of its queues, and what writes files.
///
/// @thread  main, but where it says any
class ProbeTriggers {
public:
    /// @param config  as at the start; outlives this
    /// @param layout  of the main table's records
    /// @param rings   of the recorder, which outlives this
    /// @param nodes   of the probe's queues
    /// @errors        as TriggerSet(); FilterError, std::bad_alloc
    ProbeTriggers(const Config& config, const RecordLayout& layout, std::vector<DumpQueue> rings,
                  std::span<const NumaNode> nodes, FlowHasher hasher);
    ProbeTriggers(const ProbeTriggers&) = delete;
    ProbeTriggers& operator=(const ProbeTriggers&) = delete;
    ~ProbeTriggers() = default;

    /// Adds the stage of a queue, if the main table has triggers.
    void add_stage(std::size_t queue, StageList& stages);
    /// As TableSetParts::watch.
    [[nodiscard]] std::unique_ptr<FlowWatcher> watch(const DeclaredTable& table,
                                                     std::span<const OwnField> own,
                                                     const TableQueuePlace& place);

    void start() { dumps_.start(); }
    /// Writes what waits, when no input thread runs any more.
    void end() noexcept { dumps_.end(); }
    [[nodiscard]] ControlCommands commands();
    /// Whether what they know of the main table's flows got explicit huge pages.
    [[nodiscard]] bool huge_pages() const noexcept;
    /// @thread  any
    void read(RecorderLedger& ledger) const { set_.read(ledger); }

private:
    const Config& config_;
    TriggerSet set_;
    TriggerDumps dumps_;
    std::vector<std::unique_ptr<FlowTriggers>> main_;  ///< of each queue; empty: none
};

}  // namespace tributary
