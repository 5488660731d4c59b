// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "daemon/ledger.hpp"
#include "daemon/service_manager.hpp"
#include "daemon/thread_watch.hpp"

namespace tributary {

/// What a running probe owes to whoever looks after it: threads that hang are logged and kept from
/// the service manager's watchdog, which then starts the probe anew; the others are its sign of
/// life. Its status line is kept up to date.
/// @thread  main
class Supervisor {
public:
    using Uptime = std::chrono::nanoseconds;

    static constexpr std::chrono::seconds kStatusInterval{5};

    /// Tells that the probe is ready.
    ///
    /// @param service  outlives this
    /// @param ledger   of the probe
    Supervisor(ServiceManager& service, std::vector<WatchedThread> threads,
               std::function<Ledger()> ledger, Uptime now);

    /// To be called about once a second.
    void look(Uptime now);

private:
    ServiceManager& service_;
    ThreadWatch threads_;
    std::function<Ledger()> ledger_;
    Ledger told_;
    Uptime told_at_;
};

}  // namespace tributary
