// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry_server.hpp"

#include <CivetServer.h>
#include <sysexits.h>

#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/startup_error.hpp"
#include "daemon/thread_room.hpp"

namespace tributary {
namespace {

void answer(mg_connection* connection, const char* status, const char* type,
            std::string_view body) {
    mg_printf(connection,
              "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
              status, type, body.size());
    // Who has gone away meanwhile does not read it: nothing is to be done about that.
    static_cast<void>(mg_write(connection, body.data(), body.size()));
}

/// All pages. civetweb's own choice of handlers would take `/metrics/x` for `/metrics`.
class PageHandler final : public CivetHandler {
public:
    explicit PageHandler(TelemetryServer::Pages pages) : pages_(std::move(pages)) {}

    bool handleGet(CivetServer*, mg_connection* connection) override {
        try {
            answer_get(connection);
        } catch (const std::exception&) {  // none must reach civetweb's C
            answer(connection, "503 Service Unavailable", kPlain, "not enough memory\n");
        }
        return true;
    }

private:
    static constexpr const char* kPlain = "text/plain; charset=utf-8";

    void answer_get(mg_connection* connection) const {
        const std::string_view path = mg_get_request_info(connection)->local_uri;
        if (path == "/metrics") {
            answer(connection, "200 OK", "text/plain; version=0.0.4; charset=utf-8",
                   pages_.metrics());
        } else if (path == "/healthz") {
            const std::string faults = pages_.faults();
            answer(connection, faults.empty() ? "200 OK" : "503 Service Unavailable", kPlain,
                   faults.empty() ? std::string_view("ok\n") : faults);
        } else {
            answer(connection, "404 Not Found", kPlain, "there are /metrics and /healthz\n");
        }
    }

    TelemetryServer::Pages pages_;
};

/// What civetweb says, the first thing of it: why it does not start.
class FirstMessage {
public:
    void hear(const char* text) {
        const std::lock_guard lock(mutex_);
        text_ = text_.empty() ? text : text_;
    }
    [[nodiscard]] std::string text() const {
        const std::lock_guard lock(mutex_);
        return text_;
    }

private:
    mutable std::mutex mutex_;
    std::string text_;
};

int hear_message(const mg_connection* connection, const char* text) {
    const auto* const server =
        static_cast<const CivetServer*>(mg_get_user_data(mg_get_context(connection)));
    // civetweb hands out nothing but const; the object is none.
    const_cast<FirstMessage*>(static_cast<const FirstMessage*>(server->getUserContext()))
        ->hear(text);
    constexpr int kIsDealtWith = 1;
    return kIsDealtWith;
}

}  // namespace

struct TelemetryServer::Server {
    static constexpr std::size_t kThreads =
        9;  ///< civetweb's: one that listens, others that answer

    Server(const std::string& address, Pages pages) : handler(std::move(pages)) {
        // A scrape takes milliseconds. Who stalls keeps a thread until he is cut off.
        const std::vector<std::string> options{
            "listening_ports",    address, "num_threads",       std::to_string(kThreads - 1),
            "request_timeout_ms", "5000",  "enable_keep_alive", "no"};
        if (!has_room_for_threads(kThreads)) {
            throw StartupError(EX_OSERR, "telemetry.listen " + address + ": no threads for it");
        }
        CivetCallbacks callbacks;
        callbacks.log_message = hear_message;
        try {
            http = std::make_unique<CivetServer>(options, &callbacks, &message);
        } catch (const CivetException&) {
            throw StartupError(EX_UNAVAILABLE, "telemetry.listen " + address + " cannot be had (" +
                                                   message.text() + ")");
        }
        http->addHandler("", handler);
    }

    PageHandler handler;
    FirstMessage message;
    std::unique_ptr<CivetServer> http;  // last: its threads use the others
};

TelemetryServer::TelemetryServer(const std::string& address, Pages pages)
    : server_(std::make_unique<Server>(address, std::move(pages))) {}

TelemetryServer::~TelemetryServer() = default;

}  // namespace tributary
