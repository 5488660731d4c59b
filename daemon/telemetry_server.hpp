// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace tributary {

/// Serves `/metrics` for Prometheus and `/healthz` for whoever asks whether the probe is well, by
/// HTTP, in threads of its own. It writes nothing and has no other page.
class TelemetryServer {
public:
    struct Pages {
        std::function<std::string()> metrics;  ///< Prometheus's text format
        std::function<std::string()> faults;   ///< a line each; empty: all is well
    };

    /// @param address  an IPv4 ADDRESS:PORT
    /// @param pages    called by the server's threads
    /// @errors  StartupError(69): the address cannot be had
    /// @thread  main; the server's threads get its CPUs and its signal mask
    TelemetryServer(const std::string& address, Pages pages);
    TelemetryServer(const TelemetryServer&) = delete;
    TelemetryServer& operator=(const TelemetryServer&) = delete;
    /// Waits for requests that are being answered.
    ~TelemetryServer();

private:
    struct Server;
    std::unique_ptr<Server> server_;
};

}  // namespace tributary
