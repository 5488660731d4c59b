// SPDX-License-Identifier: Apache-2.0
#include "export/transport/udp_transport.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/local_collector.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::milliseconds;

namespace {

using Octets = std::vector<std::byte>;

/// A transport to a socket of this process, which has taken one message and may send any number.
struct OpenTransport {
    explicit OpenTransport(bool segmentation = true)
        : options(options_for(port_of(listener), segmentation)) {
        transport.advance({});
        const Octets first(16);
        const MessageView view(first);
        REQUIRE(transport.send({&view, 1}, {}).taken == 1);
        static_cast<void>(transport.collect_outcomes(UdpTransport::kRefusalWait));
        REQUIRE(transport.is_proven());
        REQUIRE(receive(listener) == first);
    }
    static CollectorOptions options_for(std::uint16_t port, bool segmentation) {
        CollectorOptions options;
        options.host = "127.0.0.1";
        options.port = port;
        options.udp_segmentation = segmentation;
        return options;
    }
    /// Sends messages of these sizes, and checks that each one arrives as a datagram of its own.
    void send(const std::vector<std::size_t>& sizes) {
        std::vector<Octets> messages;
        for (const std::size_t size : sizes) {
            messages.emplace_back(size, static_cast<std::byte>(messages.size() + 1));
        }
        const std::vector<MessageView> views(messages.begin(), messages.end());
        const SendResult result = transport.send(views, now);
        CHECK(result.taken == sizes.size());
        CHECK(result.rest == SendStatus::taken);
        for (const Octets& message : messages) {
            CHECK(receive(listener) == message);
        }
        CHECK_FALSE(receive(listener).has_value());
        now += UdpTransport::kRefusalWait;
        CHECK(transport.collect_outcomes(now).delivered == sizes.size());
    }
    [[nodiscard]] std::size_t sent_singly() const {
        return static_cast<std::size_t>(
            std::ranges::count(events, CollectorEventKind::sent_singly, &CollectorEvent::kind));
    }

    FileDescriptor listener = bind_loopback(SOCK_DGRAM, 0);
    CollectorCounters counters;
    std::vector<CollectorEvent> events;
    CollectorOptions options;
    CollectorEvents reports{options, counters,
                            [this](const CollectorEvent& event) { events.push_back(event); }};
    UdpTransport transport{options, reports};
    std::chrono::nanoseconds now = UdpTransport::kRefusalWait;
};

/// The socket of this process that is connected to the port.
int socket_to(std::uint16_t port) {
    constexpr int kMost = 1024;
    for (int fd = 0; fd < kMost; ++fd) {
        sockaddr_in peer{};
        socklen_t length = sizeof peer;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
            peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) {
            return fd;
        }
    }
    return -1;
}

std::vector<std::vector<std::size_t>> mixed_sizes() {
    return {{1400},
            {1400, 1400},
            {1400, 1},
            {20, 1400},
            {1400, 1400, 1400, 700, 1400, 1400, 20, 20, 20, 1399, 1398, 1400, 1400},
            {100, 200, 300, 300, 200, 100},
            {30'000, 30'000, 30'000, 30'000, 5},
            {65'507, 65'507, 1},
            std::vector<std::size_t>(32, 1400),
            std::vector<std::size_t>(32, 512)};
}

}  // namespace

TEST_CASE("UdpTransport: each message is a datagram, whatever the sizes", "[export][unit]") {
    OpenTransport open{GENERATE(false, true)};
    for (const std::vector<std::size_t>& sizes : mixed_sizes()) {
        CAPTURE(sizes);
        open.send(sizes);
    }
    CHECK(open.sent_singly() == 0);
    CHECK(open.counters.errors.read() == 0);
}

TEST_CASE("UdpTransport: where the kernel refuses to split, each message leaves alone, said once",
          "[export][unit]") {
    OpenTransport open;
    // Without a checksum the kernel splits nothing (EINVAL).
    const int on = 1;
    REQUIRE(::setsockopt(socket_to(port_of(open.listener)), SOL_SOCKET, SO_NO_CHECK, &on,
                         sizeof on) == 0);
    open.send({1400});
    CHECK(open.sent_singly() == 0);
    for (const std::vector<std::size_t>& sizes : mixed_sizes()) {
        CAPTURE(sizes);
        open.send(sizes);
    }
    CHECK(open.sent_singly() == 1);
    CHECK(open.counters.errors.read() == 0);  // nothing is lost
}

TEST_CASE("UdpTransport: a message that is too long is lost alone, after those before it",
          "[export][unit]") {
    OpenTransport open;
    const Octets right(1400);
    const Octets too_long(65'508);
    const std::vector<MessageView> views{right, right, too_long, right};
    SendResult result = open.transport.send(views, open.now);
    CHECK(result.taken == 2);
    CHECK(result.rest == SendStatus::would_block);
    result = open.transport.send(std::span(views).subspan(2), open.now);
    CHECK(result.taken == 0);
    CHECK(result.rest == SendStatus::lost);
    result = open.transport.send(std::span(views).subspan(3), open.now);
    CHECK(result.taken == 1);
    CHECK(open.sent_singly() == 0);
    for (int i = 0; i < 3; ++i) {
        CHECK(receive(open.listener) == right);
    }
}
