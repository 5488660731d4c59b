// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tributary {

/// Tells the service manager that started the process (`Type=notify`) how it is. Started by
/// anybody else, it does nothing. What cannot be told is left untold: metering goes on.
///
/// @source  sd_notify(3), sd_watchdog_enabled(3)
/// @thread  main
/// @cost    a datagram to a local socket for each word; never blocks for long
class ServiceManager {
public:
    /// Reads the environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`.
    ServiceManager();

    /// Every queue is polled.
    void tell_ready();
    /// The configuration is read anew; tell_ready() follows.
    void tell_reloading();
    /// One line, as `systemctl status` shows it.
    void tell_status(const std::string& line);
    /// The end has begun.
    void tell_stopping();
    /// All is well. Says nothing where no watchdog was asked for.
    void keep_alive();

private:
    bool is_watched_;
};

}  // namespace tributary
