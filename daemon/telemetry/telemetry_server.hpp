// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace tributary {

/// Serves `/metrics` for Prometheus and `/healthz` for health checks, by HTTP, in a thread of its
/// own. It is read-only and has no other page.
///
/// One connection is one request, with kTotal from its begin to the last octet of the answer.
/// Beyond kMostConnections the address with the most connections loses its oldest one (among equal
/// addresses the oldest of all).
class TelemetryServer {
public:
    struct Pages {
        std::function<std::string()> metrics;  ///< Prometheus's text format
        std::function<std::string()> faults;   ///< a line each; empty: none
    };

    /// Connections at the same time.
    static constexpr std::size_t kMostConnections = 128;
    /// For one connection. A scrape takes milliseconds; Prometheus itself waits as long by default.
    static constexpr std::chrono::seconds kTotal{10};

    /// @param address  IPv4 ADDRESS:PORT
    /// @param pages    called by the server's thread
    /// @errors  StartupError(69): the address cannot be opened; StartupError(71): no thread,
    ///          descriptor or memory for the server
    /// @thread  main; the server's helper thread gets its signal mask
    TelemetryServer(const std::string& address, Pages pages);
    TelemetryServer(const TelemetryServer&) = delete;
    TelemetryServer& operator=(const TelemetryServer&) = delete;
    /// Waits for an answer in progress.
    ~TelemetryServer();

private:
    class Server;
    std::unique_ptr<Server> server_;
};

}  // namespace tributary
