// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "daemon/base/client_places.hpp"
#include "daemon/telemetry/telemetry_server.hpp"
#include "export/transport/socket.hpp"

struct MHD_Daemon;

namespace tributary {

/// HTTP by libmicrohttpd on accepted connections, without a thread of its own.
/// @thread  one
class TelemetryPages {
public:
    using Pages = TelemetryServer::Pages;

    /// @param places  closed connections leave it; outlives this
    /// @errors  StartupError(71): no descriptor or no memory
    TelemetryPages(Pages pages, ClientPlaces& places);
    TelemetryPages(const TelemetryPages&) = delete;
    TelemetryPages& operator=(const TelemetryPages&) = delete;
    ~TelemetryPages() = default;

    /// Takes a non-blocking connection. @return  false: no memory for it
    bool take(FileDescriptor socket, const SocketAddress& client);
    /// Readable when run() has work.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// Whether run() has work that does not make the descriptor readable.
    [[nodiscard]] bool is_due() const noexcept;
    /// Reads, answers and closes as far as possible without waiting.
    void run() noexcept;

private:
    struct Stop {
        void operator()(MHD_Daemon* http) const noexcept;
    };

    Pages pages_;
    std::unique_ptr<MHD_Daemon, Stop> http_;
    int descriptor_ = -1;  ///< of epoll
};

}  // namespace tributary
