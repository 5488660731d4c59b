// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace tributary {

/// The answers for DPDK's telemetry socket.
struct DpdkTelemetryAnswers {
    std::function<std::string()> ledger;   ///< JSON, as `tributary stats --json` shows it
    std::function<std::string()> figures;  ///< JSON, as the control socket's `figures`
};

/// Adds commands to DPDK's telemetry socket, for dpdk-telemetry.py:
///
///     /tributary/ledger        the sums of all queues and ports
///     /tributary/ports         the inputs by name; /tributary/port,N one of them, from 0
///     /tributary/queues        the queues by name; /tributary/queue,N one of them, with its ring
///     /tributary/collectors    the collectors by name; /tributary/collector,N one of them
///     /tributary/threads       the threads by name; /tributary/thread,N one of them
///     /tributary/info          version, start and size of the caches
///
/// The name of a nested number is its path, such as packets/ignored_by_reason/arp; DPDK allows
/// letters, digits, _ and / in names, so every other character becomes _.
///
/// One at a time, after Eal. DPDK's own thread makes the answers.
/// @thread  main
class DpdkTelemetry {
public:
    explicit DpdkTelemetry(DpdkTelemetryAnswers answers);
    /// Waits for an answer in progress.
    ~DpdkTelemetry();
    DpdkTelemetry(const DpdkTelemetry&) = delete;
    DpdkTelemetry& operator=(const DpdkTelemetry&) = delete;
};

}  // namespace tributary
