// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/watchdog_reporter.hpp"

#include <string>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/telemetry/status_line.hpp"
#include "export/threads/thread_registry.hpp"

namespace tributary {

WatchdogReporter::WatchdogReporter(ServiceManager& service,
                                   const std::vector<const ThreadLoad*>& threads,
                                   std::function<Ledger()> ledger, Uptime now)
    : service_(service),
      threads_(threads, now),
      ledger_(std::move(ledger)),
      reported_(ledger_()),
      reported_at_(now) {}

void WatchdogReporter::announce() {
    service_.notify_ready();
    service_.notify_status(status_line(reported_, reported_, {}));
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
    faults += look_at_helpers(now);
    {
        const std::lock_guard lock(faults_mutex_);
        faults_ = std::move(faults);
    }
    report_status(now);  // last: it asks drivers, which may hang
}

/// Logs the helper threads that began to hang, or go on again. @return  a line for each that hangs
std::string WatchdogReporter::look_at_helpers(Uptime now) {
    std::map<std::uint64_t, std::string> hanging;
    std::string faults;
    for (const RegisteredThread& thread : registered_threads()) {
        if (!thread.hangs(now)) {
            continue;
        }
        hanging.emplace(thread.serial, thread.name);
        faults += "helper thread " + thread.name + " hangs\n";
        if (!hanging_helpers_.contains(thread.serial)) {
            spdlog::warn("helper thread {} hangs: its work takes longer than {} s", thread.name,
                         thread.patience.count());
        }
    }
    for (const auto& [serial, name] : hanging_helpers_) {
        if (!hanging.contains(serial)) {
            spdlog::warn("helper thread {} goes on again", name);
        }
    }
    hanging_helpers_ = std::move(hanging);
    return faults;
}

std::string WatchdogReporter::faults() const {
    const std::lock_guard lock(faults_mutex_);
    return faults_;
}

void WatchdogReporter::report_status(Uptime now) {
    if (now - reported_at_ >= kStatusInterval) {
        Ledger ledger = ledger_();
        service_.notify_status(status_line(reported_, ledger, now - reported_at_));
        reported_ = std::move(ledger);
        reported_at_ = now;
    }
}

}  // namespace tributary
