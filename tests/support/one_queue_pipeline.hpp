// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/queue_worker.hpp"

namespace tributary::test {

/// A pipeline of one queue, whose records go to /dev/null.
[[nodiscard]] inline std::unique_ptr<Pipeline> one_queue_pipeline(
    std::unique_ptr<QueueWorker> queue) {
    std::vector<std::unique_ptr<QueueWorker>> queues;
    queues.push_back(std::move(queue));
    ExportOptions options;
    options.collectors.resize(1);
    options.collectors[0].transport = TransportKind::file;
    options.collectors[0].path = "/dev/null";
    return std::make_unique<Pipeline>(Pipeline::Parts{.queues = std::move(queues),
                                                      .export_options = options,
                                                      .metering = {},
                                                      .wall_clock = [] { return kFirstTimestamp; },
                                                      .on_collector_event = {}});
}

/// Starts its two threads, on any CPU.
inline void start_one_queue(Pipeline& pipeline) {
    pipeline.start({.inputs = {{.name = "in", .cpu = {}}},
                    .export_thread = {.name = "ex", .cpu = {}},
                    .idle_waits = {}},
                   [] {});
}

}  // namespace tributary::test
