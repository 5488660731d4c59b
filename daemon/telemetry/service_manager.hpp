// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace tributary {

/// Notifies the service manager that started the process (`Type=notify`). Without a service manager
/// it does nothing. Failed notifications are ignored: metering goes on.
///
/// @source  sd_notify(3), sd_watchdog_enabled(3)
/// @thread  main
/// @cost    a datagram to a local socket for each notification; never blocks for long
class ServiceManager {
public:
    /// Reads the environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`.
    ServiceManager();

    /// The start takes up to so much longer, from now on: its time-out waits.
    void extend_start(std::chrono::seconds longest);
    /// Every queue is polled.
    void notify_ready();
    /// The configuration is read anew; notify_ready() follows.
    void notify_reloading();
    /// One line, as `systemctl status` shows it.
    void notify_status(const std::string& line);
    /// The end has begun.
    void notify_stopping();
    /// Resets the watchdog, if one is set.
    void keep_alive();

private:
    bool is_watched_;
};

}  // namespace tributary
