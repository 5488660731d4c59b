// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "export/file_descriptor.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// The service manager: a datagram socket, whose path is in NOTIFY_SOCKET.
class NotifySocket {
public:
    NotifySocket() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        REQUIRE(path().size() < sizeof address.sun_path);
        std::memcpy(address.sun_path, path().data(), path().size());
        REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                       sizeof address) == 0);
        variable_.set(path().c_str());
    }
    [[nodiscard]] std::string path() const { return (directory_ / "notify").string(); }
    /// The datagrams that have come since the last call.
    [[nodiscard]] std::vector<std::string> datagrams() const {
        std::vector<std::string> datagrams;
        std::array<char, 4096> octets{};
        for (;;) {
            const ssize_t count = ::recv(socket_.get(), octets.data(), octets.size(), 0);
            if (count < 0) {
                return datagrams;
            }
            datagrams.emplace_back(octets.data(), static_cast<std::size_t>(count));
        }
    }
    void close() { socket_ = FileDescriptor(); }

private:
    TemporaryDirectory directory_;
    FileDescriptor socket_;
    EnvironmentVariable variable_{"NOTIFY_SOCKET", nullptr};
    EnvironmentVariable watchdog_{"WATCHDOG_USEC", nullptr};
    EnvironmentVariable watched_process_{"WATCHDOG_PID", nullptr};
};

using Datagrams = std::vector<std::string>;

void notify_all(ServiceManager& service) {
    service.notify_ready();
    service.notify_reloading();
    service.notify_status("1 packet");
    service.keep_alive();
    service.notify_stopping();
}

}  // namespace

TEST_CASE("ServiceManager: each state is a datagram to NOTIFY_SOCKET", "[daemon][unit]") {
    const NotifySocket notify;
    ServiceManager service;
    CHECK(notify.datagrams() == Datagrams{});
    service.notify_ready();
    CHECK(notify.datagrams() == Datagrams{"READY=1"});
    service.notify_reloading();
    CHECK(notify.datagrams() == Datagrams{"RELOADING=1"});
    service.notify_status("12 packets/s, 3 flows");
    CHECK(notify.datagrams() == Datagrams{"STATUS=12 packets/s, 3 flows"});
    service.notify_stopping();
    CHECK(notify.datagrams() == Datagrams{"STOPPING=1\nSTATUS=stopping: records leave"});
}

TEST_CASE("ServiceManager: WATCHDOG is sent where WATCHDOG_USEC asks this process for it",
          "[daemon][unit]") {
    const NotifySocket notify;
    const std::string own = std::to_string(::getpid());
    const auto keep_alive = [&](const char* microseconds, const char* process) {
        const EnvironmentVariable timeout("WATCHDOG_USEC", microseconds);
        const EnvironmentVariable watched("WATCHDOG_PID", process);
        ServiceManager service;
        service.keep_alive();
        service.keep_alive();
        return notify.datagrams();
    };
    CHECK(keep_alive("30000000", own.c_str()) == Datagrams{"WATCHDOG=1", "WATCHDOG=1"});
    CHECK(keep_alive("30000000", nullptr) == Datagrams{"WATCHDOG=1", "WATCHDOG=1"});
    CHECK(keep_alive("30000000", "1") == Datagrams{});
    CHECK(keep_alive(nullptr, own.c_str()) == Datagrams{});
    CHECK(keep_alive("0", own.c_str()) == Datagrams{});
    CHECK(keep_alive("soon", own.c_str()) == Datagrams{});
}

TEST_CASE("ServiceManager: WATCHDOG_USEC is read by the constructor alone", "[daemon][unit]") {
    const NotifySocket notify;
    std::optional<ServiceManager> service;
    {
        const EnvironmentVariable timeout("WATCHDOG_USEC", "30000000");
        service.emplace();
    }
    service->keep_alive();
    CHECK(notify.datagrams() == Datagrams{"WATCHDOG=1"});
}

TEST_CASE("ServiceManager: without a service manager nothing is sent", "[daemon][unit]") {
    const NotifySocket notify;
    const EnvironmentVariable timeout("WATCHDOG_USEC", "30000000");
    const auto value =
        GENERATE(as<const char*>(), nullptr, "", "no/absolute/path", "/nowhere/at/all");
    const EnvironmentVariable without("NOTIFY_SOCKET", value);
    ServiceManager service;
    notify_all(service);
    CHECK(notify.datagrams() == Datagrams{});
}

TEST_CASE("ServiceManager: a service manager that has closed its socket is no error",
          "[daemon][unit]") {
    NotifySocket notify;
    ServiceManager service;
    notify.close();
    CHECK_NOTHROW(notify_all(service));
}
