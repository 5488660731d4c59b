// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/watchdog_reporter.hpp"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "daemon/telemetry/status_line.hpp"

namespace tributary {

WatchdogReporter::WatchdogReporter(ServiceManager& service,
                                   const std::vector<const ThreadLoad*>& threads,
                                   std::function<Ledger()> ledger, Uptime now)
    : service_(service),
      threads_(threads, now),
      ledger_(std::move(ledger)),
      told_(ledger_()),
      told_at_(now) {
    service_.tell_ready();
    service_.tell_status(status_line(told_, told_, {}));
}

void WatchdogReporter::look(Uptime now, std::string input_faults) {
    if (threads_.look(now)) {
        service_.keep_alive();
    }
    for (const std::string& line : threads_.take_news()) {
        spdlog::warn(line);
    }
    std::string faults = std::move(input_faults);
    for (const std::string& name : threads_.hanging()) {
        faults += "thread " + name + " hangs\n";
    }
    {
        const std::lock_guard lock(faults_mutex_);
        faults_ = std::move(faults);
    }
    tell_status(now);  // last: it asks drivers, which may hang
}

std::string WatchdogReporter::faults() const {
    const std::lock_guard lock(faults_mutex_);
    return faults_;
}

void WatchdogReporter::tell_status(Uptime now) {
    if (now - told_at_ >= kStatusInterval) {
        Ledger ledger = ledger_();
        service_.tell_status(status_line(told_, ledger, now - told_at_));
        told_ = std::move(ledger);
        told_at_ = now;
    }
}

}  // namespace tributary
