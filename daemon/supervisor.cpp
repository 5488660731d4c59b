// SPDX-License-Identifier: Apache-2.0
#include "daemon/supervisor.hpp"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "daemon/status_line.hpp"

namespace tributary {

Supervisor::Supervisor(ServiceManager& service, std::vector<WatchedThread> threads,
                       std::function<Ledger()> ledger, Uptime now)
    : service_(service),
      threads_(std::move(threads), now),
      ledger_(std::move(ledger)),
      told_(ledger_()),
      told_at_(now) {
    service_.tell_ready();
    service_.tell_status(status_line(told_, told_, {}));
}

void Supervisor::look(Uptime now) {
    if (threads_.look(now)) {
        service_.keep_alive();
    }
    for (const std::string& line : threads_.take_news()) {
        spdlog::warn(line);
    }
    if (now - told_at_ >= kStatusInterval) {
        Ledger ledger = ledger_();
        service_.tell_status(status_line(told_, ledger, now - told_at_));
        told_ = std::move(ledger);
        told_at_ = now;
    }
}

}  // namespace tributary
