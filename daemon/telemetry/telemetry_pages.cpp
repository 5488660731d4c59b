// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/telemetry_pages.hpp"

#include <microhttpd.h>
#include <sysexits.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";

struct Answer {
    unsigned status;
    const char* type;
    std::string body;
};

Answer answer_to(std::string_view method, std::string_view path,
                 const TelemetryPages::Pages& pages) {
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
        return {MHD_HTTP_METHOD_NOT_ALLOWED, kPlain, "there are GET and HEAD\n"};
    }
    if (path == "/metrics") {
        return {MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", pages.metrics()};
    }
    if (path != "/healthz") {
        return {MHD_HTTP_NOT_FOUND, kPlain, "there are /metrics and /healthz\n"};
    }
    const std::string faults = pages.faults();
    return faults.empty() ? Answer{MHD_HTTP_OK, kPlain, "ok\n"}
                          : Answer{MHD_HTTP_SERVICE_UNAVAILABLE, kPlain, faults};
}

/// @return  MHD_NO: no memory; the connection is closed
MHD_Result send(MHD_Connection* connection, Answer answer) noexcept {
    const std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)> response(
        MHD_create_response_from_buffer(answer.body.size(), answer.body.data(),
                                        MHD_RESPMEM_MUST_COPY),
        &MHD_destroy_response);
    if (response == nullptr ||
        MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, answer.type) !=
            MHD_YES ||
        MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONNECTION, "close") != MHD_YES) {
        return MHD_NO;
    }
    // RFC 9110 §15.5.6: an answer with 405 names the allowed methods.
    if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED &&
        MHD_add_response_header(response.get(), MHD_HTTP_HEADER_ALLOW, "GET, HEAD") != MHD_YES) {
        return MHD_NO;
    }
    return MHD_queue_response(connection, answer.status, response.get());
}

/// libmicrohttpd calls it with each request's header, before any content.
// NOLINTNEXTLINE(readability-function-size): the library chose the parameters
MHD_Result answer_request(void* pages, MHD_Connection* connection, const char* path,
                          const char* method, const char* /*version*/, const char* /*content*/,
                          std::size_t* /*content_size*/, void** /*state*/) {
    try {
        return send(connection,
                    answer_to(method, path, *static_cast<const TelemetryPages::Pages*>(pages)));
    } catch (const std::exception&) {  // none must reach C code
        return send(connection, {MHD_HTTP_SERVICE_UNAVAILABLE, kPlain, "no memory\n"});
    }
}

/// libmicrohttpd calls it before it closes the socket.
void notice_end(void* places, MHD_Connection* connection, void** /*state*/,
                MHD_ConnectionNotificationCode what) {
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && info != nullptr) {
        static_cast<ClientPlaces*>(places)->leave(info->connect_fd);
    }
}

/// A connection that lost its place is closed a moment later; until then there is one more.
constexpr unsigned kMostOfLibrary = 2 * TelemetryServer::kMostConnections;

}  // namespace

void TelemetryPages::Stop::operator()(MHD_Daemon* http) const noexcept { MHD_stop_daemon(http); }

TelemetryPages::TelemetryPages(Pages pages, ClientPlaces& places) : pages_(std::move(pages)) {
    constexpr unsigned kFlags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET;
    constexpr std::uint16_t kNoPort = 0;
    http_.reset(MHD_start_daemon(kFlags, kNoPort, nullptr, nullptr, &answer_request, &pages_,
                                 MHD_OPTION_NOTIFY_CONNECTION, &notice_end, &places,
                                 MHD_OPTION_CONNECTION_LIMIT, kMostOfLibrary, MHD_OPTION_END));
    const MHD_DaemonInfo* const info =
        http_ == nullptr ? nullptr : MHD_get_daemon_info(http_.get(), MHD_DAEMON_INFO_EPOLL_FD);
    if (info == nullptr) {
        throw StartupError(EX_OSERR, "telemetry.listen: no descriptors or no memory for HTTP");
    }
    descriptor_ = info->epoll_fd;
}

bool TelemetryPages::take(FileDescriptor socket, const SocketAddress& client) {
    const int descriptor = socket.release();  // the library closes it, also on failure
    return MHD_add_connection(http_.get(), descriptor,
                              reinterpret_cast<const sockaddr*>(&client.storage),
                              client.length) == MHD_YES;
}

bool TelemetryPages::is_due() const noexcept {
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    return MHD_get_timeout(http_.get(), &milliseconds) == MHD_YES && milliseconds == 0;
}

void TelemetryPages::run() noexcept { static_cast<void>(MHD_run(http_.get())); }

}  // namespace tributary
