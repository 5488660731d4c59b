// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/telemetry_server.hpp"

#include <sys/socket.h>
#include <sysexits.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/exit_code_of.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// The port of the listening TCP socket that this process has; 0: it has none.
std::uint16_t listening_port() {
    constexpr int kMostDescriptors = 1024;
    for (int descriptor = 3; descriptor < kMostDescriptors; ++descriptor) {
        int listens = 0;
        socklen_t size = sizeof listens;
        sockaddr_in address{};
        socklen_t length = sizeof address;
        if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
            listens != 0 &&
            ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
            address.sin_family == AF_INET) {
            return ntohs(address.sin_port);
        }
    }
    return 0;
}

std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
}

/// A server at a port that the kernel chooses.
struct Served {
    explicit Served(TelemetryServer::Pages pages = {.metrics = [] { return "one 1\n"; },
                                                    .faults = [] { return ""; }})
        : server(std::make_unique<TelemetryServer>("127.0.0.1:0", std::move(pages))),
          port(listening_port()) {
        REQUIRE(port != 0);
    }
    [[nodiscard]] HttpAnswer get(const std::string& path) const {
        return http_answer(port, "GET", path);
    }

    std::unique_ptr<TelemetryServer> server;
    std::uint16_t port;
};

}  // namespace

TEST_CASE("TelemetryServer: /metrics is the page of now, in Prometheus's format",
          "[daemon][unit][threads]") {
    std::atomic<int> calls{0};
    const Served served({.metrics = [&calls] { return "calls " + std::to_string(++calls) + "\n"; },
                         .faults = [] { return ""; }});
    for (const char* text : {"calls 1\n", "calls 2\n"}) {
        const HttpAnswer answer = served.get("/metrics");
        CHECK(answer.status == "HTTP/1.1 200 OK");
        CHECK(answer.headers.at("content-type") == "text/plain; version=0.0.4; charset=utf-8");
        CHECK(answer.headers.at("content-length") == "8");
        CHECK(answer.headers.at("connection") == "close");
        CHECK(answer.body == text);
    }
    CHECK(served.get("/metrics?name[]=x").body == "calls 3\n");
}

TEST_CASE("TelemetryServer: /healthz has the faults of now", "[daemon][unit][threads]") {
    std::atomic<bool> is_well{true};
    const Served served(
        {.metrics = [] { return ""; },
         .faults = [&is_well] { return is_well ? "" : "thread input 0 hangs\nno link\n"; }});
    const HttpAnswer good = served.get("/healthz");
    CHECK(good.status == "HTTP/1.1 200 OK");
    CHECK(good.headers.at("content-type") == "text/plain; charset=utf-8");
    CHECK(good.body == "ok\n");
    is_well = false;
    const HttpAnswer bad = served.get("/healthz");
    CHECK(bad.status == "HTTP/1.1 503 Service Unavailable");
    CHECK(bad.headers.at("content-type") == "text/plain; charset=utf-8");
    CHECK(bad.body == "thread input 0 hangs\nno link\n");
    is_well = true;
    CHECK(served.get("/healthz").body == "ok\n");
}

TEST_CASE("TelemetryServer: no other path is a page", "[daemon][unit][threads]") {
    const Served served;
    for (const char* path : {"/", "/metrics/", "/Metrics", "/metricsx", "/healthz/x",
                             "/favicon.ico", "/../etc/passwd", "//metrics"}) {
        const HttpAnswer answer = served.get(path);
        CHECK(answer.status == "HTTP/1.1 404 Not Found");
        CHECK(answer.body == "there are /metrics and /healthz\n");
    }
}

TEST_CASE("TelemetryServer: HEAD is GET without the page", "[daemon][unit][threads]") {
    const Served served;
    const HttpAnswer answer = http_answer(served.port, "HEAD", "/metrics");
    CHECK(answer.status == "HTTP/1.1 200 OK");
    CHECK(answer.headers.at("content-length") == "6");
    CHECK(answer.body.empty());
}

TEST_CASE("TelemetryServer: another method is refused, and the answer names those that there are",
          "[daemon][unit][threads]") {
    std::atomic<int> calls{0};
    const Served served({.metrics = [&calls] { return std::to_string(++calls); },
                         .faults = [&calls] { return std::to_string(++calls); }});
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get"}) {
        for (const char* path : {"/metrics", "/healthz", "/"}) {
            const HttpAnswer answer = http_answer(served.port, method, path);
            CHECK(answer.status == "HTTP/1.1 405 Method Not Allowed");
            CHECK(answer.headers.at("allow") == "GET, HEAD");
            CHECK(answer.body == "there are GET and HEAD\n");
        }
    }
    CHECK(calls == 0);
}

TEST_CASE("TelemetryServer: a page without memory is an answer with 503",
          "[daemon][unit][threads]") {
    const Served served(
        {.metrics = []() -> std::string { throw std::bad_alloc(); }, .faults = [] { return ""; }});
    const HttpAnswer answer = served.get("/metrics");
    CHECK(answer.status == "HTTP/1.1 503 Service Unavailable");
    CHECK(answer.body == "no memory\n");
    CHECK(served.get("/healthz").body == "ok\n");
}

TEST_CASE("TelemetryServer: a request may come in parts, and a page be long",
          "[daemon][unit][threads]") {
    std::string page(8'000'000, 'x');
    page.back() = '\n';
    const Served served({.metrics = [&page] { return page; }, .faults = [] { return ""; }});
    const HttpClient client(served.port);
    for (const char octet : std::string("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
        client.send(std::string(1, octet));
        if (octet == '\n') {
            CHECK(served.get("/healthz").body == "ok\n");  // another one is not held up
        }
    }
    const HttpAnswer answer = client.answer();
    CHECK(answer.headers.at("content-length") == "8000000");
    CHECK((answer.body == page));
}

TEST_CASE("TelemetryServer: clients that go away or speak no HTTP hold nothing up",
          "[daemon][unit][threads]") {
    const std::string page(4'000'000, 'x');
    const Served served({.metrics = [&page] { return page; }, .faults = [] { return ""; }});
    for (int i = 0; i < 20; ++i) {
        {
            const HttpClient says_nothing(served.port);
        }
        { HttpClient(served.port).send("GET /met"); }
        { HttpClient(served.port).request("GET", "/metrics"); }  // and reads nothing
        const HttpClient speaks_another(served.port);
        speaks_another.send("\x16\x03\x01\x02\r\n\r\n");
        static_cast<void>(speaks_another.read_to_end());  // it is ended in any case
    }
    CHECK(served.get("/healthz").body == "ok\n");
}

TEST_CASE("TelemetryServer: one connection is one request", "[daemon][unit][threads]") {
    const Served served;
    const HttpClient client(served.port);
    client.send(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(client.answer().body == "one 1\n");
}

TEST_CASE("TelemetryServer: many clients at the same time each get their page",
          "[daemon][unit][threads]") {
    const Served served;
    std::deque<HttpClient> clients;
    while (clients.size() < TelemetryServer::kMostConnections) {
        clients.emplace_back(served.port);
    }
    for (auto client = clients.rbegin(); client != clients.rend(); ++client) {
        client->request("GET", "/metrics");
    }
    for (const HttpClient& client : clients) {
        REQUIRE(client.answer().body == "one 1\n");
    }
}

TEST_CASE("TelemetryServer: clients in several threads, one after the other",
          "[daemon][unit][threads]") {
    std::atomic<int> good{0};
    {
        const Served served;
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&served, &good] {
                for (int i = 0; i < 50; ++i) {
                    good += served.get("/metrics").body == "one 1\n" ? 1 : 0;
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    CHECK(good == 200);
}

TEST_CASE("TelemetryServer: connections that were served leave no descriptor behind",
          "[daemon][unit][threads]") {
    const Served served;
    static_cast<void>(served.get("/metrics"));
    const std::ptrdiff_t before = open_descriptors();
    for (int i = 0; i < 300; ++i) {
        REQUIRE(served.get("/metrics").status == "HTTP/1.1 200 OK");
    }
    CHECK(wait_until([before] { return open_descriptors() <= before; }));
}

TEST_CASE("TelemetryServer: of too many silent clients the oldest loses its place",
          "[daemon][unit][threads]") {
    const Served served;
    std::deque<HttpClient> silent;
    while (silent.size() <= TelemetryServer::kMostConnections) {
        silent.emplace_back(served.port);
    }
    CHECK(silent[0].read_to_end().empty());
    for (std::size_t i = 1; i < silent.size(); ++i) {
        REQUIRE_FALSE(silent[i].has_ended());
    }
    // The next oldest goes for it, unless the request has come by the time it is taken.
    CHECK(served.get("/metrics").body == "one 1\n");
    silent[2].request("GET", "/healthz");
    CHECK(silent[2].answer().body == "ok\n");
}

TEST_CASE("TelemetryServer: its end cuts silent clients off and frees the port",
          "[daemon][unit][threads]") {
    Served served;
    const HttpClient silent(served.port);
    CHECK(served.get("/metrics").body == "one 1\n");  // the silent one has been taken
    served.server.reset();
    CHECK(silent.read_to_end().empty());
    CHECK_THROWS(HttpClient(served.port));
    const std::string address = "127.0.0.1:" + std::to_string(served.port);
    CHECK(exit_code_of([&address] {
              const TelemetryServer next(
                  address, {.metrics = [] { return ""; }, .faults = [] { return ""; }});
          }) == 0);
}

TEST_CASE("TelemetryServer: an address that cannot be had is a StartupError with its reason",
          "[daemon][unit]") {
    const Served served;
    const auto start_at = [](const std::string& address) {
        const TelemetryServer server(address,
                                     {.metrics = [] { return ""; }, .faults = [] { return ""; }});
    };
    const std::string taken = "127.0.0.1:" + std::to_string(served.port);
    CHECK(exit_code_of([&] { start_at(taken); }) == EX_UNAVAILABLE);
    CHECK_THROWS_WITH(start_at(taken),
                      "telemetry.listen " + taken + " cannot be had (Address already in use)");
    CHECK_THROWS_WITH(start_at("192.0.2.1:0"),
                      "telemetry.listen 192.0.2.1:0 cannot be had (Cannot assign requested "
                      "address)");
    CHECK_THROWS_WITH(start_at("localhost:0"),
                      "telemetry.listen localhost:0 cannot be had (it is no IPv4 ADDRESS:PORT)");
    CHECK(exit_code_of([&] { start_at("192.0.2.1:0"); }) == EX_UNAVAILABLE);
}
