// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/service_manager.hpp"

#include <systemd/sd-daemon.h>

namespace tributary {
namespace {

constexpr int kKeepEnvironment = 0;

void notify(const std::string& state) {
    // An error means that the service manager does not listen now: metering goes on.
    static_cast<void>(sd_notify(kKeepEnvironment, state.c_str()));
}

}  // namespace

ServiceManager::ServiceManager()
    : is_watched_(sd_watchdog_enabled(kKeepEnvironment, nullptr) > 0) {}

void ServiceManager::extend_start(std::chrono::seconds longest) {
    notify("EXTEND_TIMEOUT_USEC=" + std::to_string(std::chrono::microseconds(longest).count()));
}

void ServiceManager::notify_ready() { notify("READY=1"); }

void ServiceManager::notify_reloading() { notify("RELOADING=1"); }

void ServiceManager::notify_status(const std::string& line) { notify("STATUS=" + line); }

void ServiceManager::notify_stopping() { notify("STOPPING=1\nSTATUS=stopping: records leave"); }

void ServiceManager::keep_alive() {
    if (is_watched_) {
        notify("WATCHDOG=1");
    }
}

}  // namespace tributary
