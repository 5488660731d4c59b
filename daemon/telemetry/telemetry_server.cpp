// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/telemetry_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "daemon/base/client_places.hpp"
#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/telemetry/telemetry_pages.hpp"
#include "export/threads/helper_thread.hpp"
#include "export/transport/socket.hpp"

namespace tributary {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& address, int code, const std::string& why) {
    throw StartupError(code, "telemetry.listen " + address + " cannot be had (" + why + ")");
}

/// @param text  checked by the configuration's rules
sockaddr_in parse_address(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) {
        refuse(text, EX_UNAVAILABLE, "it is no IPv4 ADDRESS:PORT");
    }
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1))));
    return address;
}

FileDescriptor listen_at(const std::string& text) {
    const sockaddr_in address = parse_address(text);
    FileDescriptor listener(
        ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    const int yes = 1;  // connections of a former probe do not block the address
    const bool listens =
        listener && ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(listener.get(), SOMAXCONN) == 0;
    if (!listens) {
        refuse(text, EX_UNAVAILABLE, words_for(errno));
    }
    return listener;
}

/// The client's address without its port.
ClientPlaces::Client host_of(const SocketAddress& client) noexcept {
    sockaddr_in address{};
    std::memcpy(&address, &client.storage, sizeof address);
    return {.user = ntohl(address.sin_addr.s_addr), .process = 0};
}

}  // namespace

class TelemetryServer::Server {
public:
    Server(const std::string& address, Pages pages)
        : listener_(listen_at(address)),
          stop_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
          http_(std::move(pages), places_) {
        if (!stop_) {
            refuse(address, EX_OSERR, words_for(errno));
        }
        try {
            thread_ = HelperThread({.name = "telemetry", .patience = kPatience},
                                   [this](ThreadPlaceInRegistry& place) { run(place); });
        } catch (const std::system_error& error) {
            refuse(address, EX_OSERR, std::string("no thread for it: ") + error.what());
        }
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(stop_.get(), &one, sizeof one);
        thread_.join();
    }

private:
    using Time = ClientPlaces::Time;

    /// A round takes milliseconds: what is longer waits for a driver or a lock.
    static constexpr std::chrono::seconds kPatience{10};

    void run(ThreadPlaceInRegistry& place) {
        while (!wait(place)) {
            try {
                take_connections();
                http_.run();
                close_losers();
                http_.run();
            } catch (const std::bad_alloc&) {
                pause();
            }
        }
    }

    /// @return  true: the server ends
    bool wait(ThreadPlaceInRegistry& place) {
        const int listener = steady_clock::now() < pause_end_ ? -1 : listener_.get();
        std::array<pollfd, 3> fds{
            {{stop_.get(), POLLIN, 0}, {listener, POLLIN, 0}, {http_.descriptor(), POLLIN, 0}}};
        const auto longest = static_cast<int>(patience().count());
        place.begin_to_wait();
        ::poll(fds.data(), fds.size(), longest);
        place.begin_work();
        return fds[0].revents != 0;
    }

    [[nodiscard]] std::chrono::milliseconds patience() const {
        using std::chrono::milliseconds;
        if (http_.is_due()) {
            return milliseconds{0};
        }
        const Time now = steady_clock::now();
        std::optional<Time> next = places_.next_event();
        if (now < pause_end_) {
            next = next ? std::min(*next, pause_end_) : pause_end_;
        }
        constexpr milliseconds kForEver{-1};
        return next ? std::max(std::chrono::ceil<milliseconds>(*next - now), milliseconds{0})
                    : kForEver;
    }

    void take_connections() {
        // After so many, present connections are served: they get answers also during a flood.
        constexpr int kMostAtOnce = 64;
        for (int i = 0; i < kMostAtOnce && steady_clock::now() >= pause_end_; ++i) {
            SocketAddress client{.storage = {}, .length = sizeof(sockaddr_storage)};
            FileDescriptor socket(::accept4(listener_.get(),
                                            reinterpret_cast<sockaddr*>(&client.storage),
                                            &client.length, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (socket) {
                take(std::move(socket), client);
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return;
            } else if (errno != ECONNABORTED && errno != EINTR) {
                make_room();  // no descriptors or no memory left
            }
        }
    }

    /// @errors  std::bad_alloc: the socket is closed
    void take(FileDescriptor socket, const SocketAddress& client) {
        const int descriptor = socket.get();
        places_.enter(descriptor, host_of(client), steady_clock::now());
        if (!http_.take(std::move(socket), client)) {
            places_.leave(descriptor);
            make_room();
        }
    }

    void make_room() {
        pause();
        if (const std::optional<int> loser = places_.displace()) {
            ::shutdown(*loser, SHUT_RDWR);
        }
    }

    void pause() noexcept {
        constexpr std::chrono::milliseconds kPause{100};
        pause_end_ = steady_clock::now() + kPause;
    }

    /// Only the library closes its sockets: at the end of a connection that is shut down.
    void close_losers() {
        const Time now = steady_clock::now();
        for (const int loser : places_.take_losers(now)) {
            ::shutdown(loser, SHUT_RDWR);
        }
        if (const auto losses = places_.losses_to_log(now)) {
            spdlog::warn("telemetry: {}",
                         words_for(*losses, places_.limits(),
                                   "no whole request came, or its answer was not read,"));
        }
    }

    ClientPlaces places_{{.places = kMostConnections, .total = kTotal}};
    FileDescriptor listener_;
    FileDescriptor stop_;  ///< an eventfd
    TelemetryPages http_;  ///< the thread's alone
    Time pause_end_;       ///< no connection is accepted before
    HelperThread thread_;
};

TelemetryServer::TelemetryServer(const std::string& address, Pages pages)
    : server_(std::make_unique<Server>(address, std::move(pages))) {}

TelemetryServer::~TelemetryServer() = default;

}  // namespace tributary
