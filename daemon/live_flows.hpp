// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stdexcept>

#include "daemon/pipeline.hpp"
#include "export/message.hpp"
#include "export/options.hpp"
#include "flowcache/flow_record.hpp"

namespace tributary {

/// An input thread that does not do what it is asked: it hangs.
struct ThreadHangs : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Writes the flows that run now as IPFIX messages, templates first. They are looked at one after
/// the other while packets go on, so that it is no picture of one moment: a flow that ends
/// meanwhile may be missing.
///
/// @param options  of the export: what records are told in
/// @param write    gets one message after the other; false: nobody wants more
/// @errors  ThreadHangs, ExportError
/// @thread  any but the pipeline's, between its start() and stop()
/// @cost    for an input thread: eight entries between two bursts
void write_live_flows(Pipeline& pipeline, const ExportOptions& options, const RecordLayout& layout,
                      const std::function<bool(MessageView)>& write);

/// Ends all flows that run now; their packets to come begin new ones.
///
/// @errors  ThreadHangs
/// @thread  any but the pipeline's, between its start() and stop()
void end_live_flows(Pipeline& pipeline);

/// Sets the timeouts of all queues' caches, and sees to it that they hold for the flows that run.
///
/// @errors  ThreadHangs: those before it have them already
/// @thread  any but the pipeline's, between its start() and stop()
void set_live_timeouts(Pipeline& pipeline, const Timeouts& timeouts);

/// Queues that lie side by side.
struct QueueRange {
    std::size_t first{};
    std::size_t count{};
};

/// Sets the filter of some queues' input paths.
///
/// @param filter  outlives the paths, or their next filter; nullptr: all packets match
/// @errors  ThreadHangs: those before it have it already
/// @thread  any but the pipeline's, between its start() and stop()
void set_live_filter(Pipeline& pipeline, QueueRange queues, PacketSelector* filter);

}  // namespace tributary
