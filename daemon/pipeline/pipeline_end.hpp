// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "daemon/base/signals.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/signal_loop.hpp"

namespace tributary {

/// If the end takes longer, the main thread logs the records and collectors that it waits for. A
/// UDP collector may take 200 ms to refuse the last message.
inline constexpr std::chrono::milliseconds kLogEndAfter{500};

/// What the end of a run waits for: the number of flow records, the collectors, and the longest
/// wait.
///
/// @param ledger  read while the pipeline stops
[[nodiscard]] std::string wait_of_end(const Ledger& ledger,
                                      std::chrono::milliseconds drain_timeout);

/// Stops a pipeline in a separate thread, while the main thread runs `watch`.
///
/// @param watch  returns when the pipeline has stopped; not called if the thread cannot be created
/// @thread       main
void stop_beside(Pipeline& pipeline, Signals& signals,
                 const std::function<void(const std::atomic<bool>& stopped)>& watch);

/// Stops a probe's pipeline. After kLogEndAfter it logs wait_of_end(); a SIGINT or SIGTERM after
/// that line ends the wait for collectors. SIGUSR1 logs statistics.
///
/// @param ledger  called by the main thread while the pipeline stops
/// @thread        main
void end_pipeline(Pipeline& pipeline, Signals& signals, SignalLoop& loop,
                  const std::function<Ledger()>& ledger);

}  // namespace tributary
