// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/pipeline/ledger.hpp"
#include "daemon/telemetry/service_manager.hpp"
#include "daemon/telemetry/stall_detector.hpp"

namespace tributary {

/// Reports a running probe's health: it logs hanging threads, resets the service manager's watchdog
/// while no input or export thread hangs, and updates the status line. Without resets the service
/// manager starts the probe anew. A helper thread that hangs is a fault, but no reason for that:
/// packets are metered, and records leave all the same.
/// @thread  main
class WatchdogReporter {
public:
    using Uptime = StallDetector::Uptime;

    static constexpr std::chrono::seconds kStatusInterval{5};

    /// @param service  outlives this
    /// @param ledger   of the probe
    /// @param threads  outlive this
    WatchdogReporter(ServiceManager& service, const std::vector<const ThreadLoad*>& threads,
                     std::function<Ledger()> ledger, Uptime now);

    /// Notifies the service manager that the probe is ready: its queues are polled, and its servers
    /// take connections.
    void announce();

    /// Call it about once a second.
    ///
    /// @param input_faults  the inputs' faults, a line each
    void look(Uptime now, std::string input_faults);
    /// The faults, a line each; empty: none.
    /// @thread  any
    [[nodiscard]] std::string faults() const;

private:
    void report_status(Uptime now);
    [[nodiscard]] std::string look_at_helpers(Uptime now);

    ServiceManager& service_;
    StallDetector threads_;
    std::function<Ledger()> ledger_;
    Ledger reported_;
    Uptime reported_at_;
    std::map<std::uint64_t, std::string> hanging_helpers_;  ///< names by serial number
    mutable std::mutex faults_mutex_;
    std::string faults_;
};

}  // namespace tributary
