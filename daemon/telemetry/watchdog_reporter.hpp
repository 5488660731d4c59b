// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/pipeline/ledger.hpp"
#include "daemon/telemetry/service_manager.hpp"
#include "daemon/telemetry/stall_detector.hpp"

namespace tributary {

/// What a running probe owes to whoever looks after it: threads that hang are logged and kept from
/// the service manager's watchdog, which then starts the probe anew; the others are its sign of
/// life. Its status line is kept up to date.
/// @thread  main
class WatchdogReporter {
public:
    using Uptime = StallDetector::Uptime;

    static constexpr std::chrono::seconds kStatusInterval{5};

    /// Tells that the probe is ready.
    ///
    /// @param service  outlives this
    /// @param ledger   of the probe
    /// @param threads  outlive this
    WatchdogReporter(ServiceManager& service, const std::vector<const ThreadLoad*>& threads,
                     std::function<Ledger()> ledger, Uptime now);

    /// To be called about once a second.
    ///
    /// @param input_faults  what is wrong with the inputs, a line each
    void look(Uptime now, std::string input_faults);
    /// What is wrong, a line each; empty: nothing.
    /// @thread  any
    [[nodiscard]] std::string faults() const;

private:
    void tell_status(Uptime now);

    ServiceManager& service_;
    StallDetector threads_;
    std::function<Ledger()> ledger_;
    Ledger told_;
    Uptime told_at_;
    mutable std::mutex faults_mutex_;
    std::string faults_;
};

}  // namespace tributary
