// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/table_flows.hpp"
#include "export/message.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// An input thread does not carry out a command: it hangs.
struct ThreadHangs : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A further table, with its part of each queue.
struct LiveTable {
    FurtherTable table;
    /// They share the ownership of all this: a reload may remove the table meanwhile.
    std::vector<std::shared_ptr<TableFlows>> queues;
};

/// Writes the running flows as IPFIX messages, templates first. This is no snapshot: it
/// reads them one after the other while packets are metered, and a flow that ends meanwhile may be
/// missing.
///
/// @param options  of the export: how records are encoded
/// @param write    gets one message after the other; returns false to end the listing
/// @errors  ThreadHangs, ExportError
/// @thread  any but the pipeline's, between its start() and stop()
/// @cost    for an input thread: 8 entries before a burst, 64 after an empty poll
void write_live_flows(Pipeline& pipeline, const ExportOptions& options, const RecordLayout& layout,
                      const std::function<bool(MessageView)>& write);
/// The same of the flows of another table.
void write_live_flows(Pipeline& pipeline, const ExportOptions& options, const LiveTable& table,
                      const std::function<bool(MessageView)>& write);

/// Ends all running flows; their next packets begin new ones.
///
/// @param further  the parts of further tables, of each queue
/// @errors  ThreadHangs; std::runtime_error: rings and caches are full, and no collector takes
///          records
/// @thread  any but the pipeline's, between its start() and stop()
void end_live_flows(Pipeline& pipeline, std::span<const LiveTable> further = {});

struct LiveTimeouts {
    Timeouts wanted;
    Timeouts former;
};

/// Sets the timeouts of a table's caches in all queues. They also apply to running flows, once each
/// thread has gone through its cache.
///
/// @param table  its part of each queue; empty: the main table
/// @errors  ThreadHangs: all threads that answer have the former timeouts
/// @thread  any but the pipeline's, between its start() and stop()
void set_live_timeouts(Pipeline& pipeline, const LiveTimeouts& timeouts,
                       std::span<const std::shared_ptr<TableFlows>> table = {});

/// Consecutive queues.
struct QueueRange {
    std::size_t first{};
    std::size_t count{};
};
/// nullptr: all packets match.
struct LiveFilter {
    PacketSelector* wanted{};
    PacketSelector* former{};
};

/// Sets the filter of some queues' readers.
///
/// @param filter  outlives the readers, or their next filter
/// @errors  ThreadHangs: all threads that answer have the former filter, and either may still be
///          used
/// @thread  any but the pipeline's, between its start() and stop()
void set_live_filter(Pipeline& pipeline, QueueRange queues, const LiveFilter& filter);

}  // namespace tributary
