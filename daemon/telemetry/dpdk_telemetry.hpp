// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace tributary {

/// What DPDK's telemetry socket is asked for.
struct DpdkTelemetryAnswers {
    std::function<std::string()> ledger;   ///< JSON, as `tributary stats --json` shows it
    std::function<std::string()> figures;  ///< JSON, as the control socket's `figures`
};

/// Answers DPDK's telemetry socket, for dpdk-telemetry.py, beside what DPDK itself tells there:
///
///     /tributary/ledger        the sums of all queues and ports
///     /tributary/ports         the inputs by name; /tributary/port,N one of them, from 0
///     /tributary/queues        the queues by name; /tributary/queue,N one of them, with its ring
///     /tributary/collectors    the collectors by name; /tributary/collector,N one of them
///     /tributary/threads       the threads by name; /tributary/thread,N one of them
///     /tributary/info          version, start and size of the caches
///
/// Numbers that are deeper have their path for a name, such as packets/ignored_by_reason/arp; DPDK
/// allows letters, digits, _ and / in names, so every other character becomes _.
///
/// There can be one at a time, after Eal. Its answers are made in DPDK's own thread.
/// @thread  main
class DpdkTelemetry {
public:
    explicit DpdkTelemetry(DpdkTelemetryAnswers answers);
    /// Waits for an answer that is being made.
    ~DpdkTelemetry();
    DpdkTelemetry(const DpdkTelemetry&) = delete;
    DpdkTelemetry& operator=(const DpdkTelemetry&) = delete;
};

}  // namespace tributary
