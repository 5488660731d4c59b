// SPDX-License-Identifier: Apache-2.0
#include "daemon/service_manager.hpp"

#include <systemd/sd-daemon.h>

#include <cstdint>

namespace tributary {
namespace {

constexpr int kKeepEnvironment = 0;

void notify(const std::string& state) {
    // An error means that nobody listens just now, which is no reason to stop metering.
    static_cast<void>(sd_notify(kKeepEnvironment, state.c_str()));
}

}  // namespace

ServiceManager::ServiceManager() {
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(kKeepEnvironment, &microseconds) > 0) {
        watchdog_ = std::chrono::microseconds(microseconds);
    }
}

void ServiceManager::tell_ready() { notify("READY=1"); }

void ServiceManager::tell_status(const std::string& line) { notify("STATUS=" + line); }

void ServiceManager::tell_stopping() { notify("STOPPING=1\nSTATUS=stopping: records leave"); }

void ServiceManager::keep_alive() {
    if (watchdog_) {
        notify("WATCHDOG=1");
    }
}

}  // namespace tributary
