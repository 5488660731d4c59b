// SPDX-License-Identifier: Apache-2.0
#include "export/transport/socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "export/export_error.hpp"
#include "tests/support/local_collector.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

CollectorOptions collector_at(const std::string& host, std::uint16_t port) {
    CollectorOptions collector;
    collector.host = host;
    collector.port = port;
    return collector;
}

/// "127.0.0.1:4739", "[::1]:4739".
std::string text_of(const SocketAddress& address) {
    std::vector<char> text(INET6_ADDRSTRLEN);
    if (address.family() == AF_INET) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, &address.storage, sizeof ipv4);
        ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), INET6_ADDRSTRLEN);
        return std::string(text.data()) + ":" + std::to_string(ntohs(ipv4.sin_port));
    }
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address.storage, sizeof ipv6);
    ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), INET6_ADDRSTRLEN);
    return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(ipv6.sin6_port));
}

SocketAddress address_of(const std::string& host, std::uint16_t port) {
    Resolver resolver(collector_at(host, port), SOCK_DGRAM);
    resolver.start();
    return resolver.poll().value().value().front();
}

SocketAddress local_address(const FileDescriptor& socket) {
    SocketAddress own;
    own.length = sizeof own.storage;
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.length) ==
            0);
    return own;
}

/// What a TCP connection to this address comes to; 0: it is open.
int outcome_of_tcp(const SocketAddress& peer) {
    const auto socket = connect_socket(peer, SOCK_STREAM, std::nullopt);
    if (!socket) {
        return socket.error();
    }
    constexpr int kMilliseconds = 30'000;
    pollfd fd{.fd = socket->get(), .events = POLLOUT, .revents = 0};
    REQUIRE(::poll(&fd, 1, kMilliseconds) == 1);
    const int error = take_socket_error(*socket);
    CHECK(take_socket_error(*socket) == 0);  // it was taken
    return error;
}

}  // namespace

TEST_CASE("Resolver: a numeric address is the result at once, and once", "[export][unit]") {
    const auto [host, text, family, length] =
        GENERATE(table<std::string, std::string, int, std::size_t>(
            {{"127.0.0.1", "127.0.0.1:4739", AF_INET, sizeof(sockaddr_in)},
             {"192.0.2.7", "192.0.2.7:4739", AF_INET, sizeof(sockaddr_in)},
             {"::1", "[::1]:4739", AF_INET6, sizeof(sockaddr_in6)},
             {"2001:db8::7", "[2001:db8::7]:4739", AF_INET6, sizeof(sockaddr_in6)}}));
    Resolver resolver(collector_at(host, 4739), SOCK_DGRAM);
    CHECK(resolver.is_numeric());
    CHECK_FALSE(resolver.asking());
    CHECK_FALSE(resolver.poll().has_value());
    for (int starts = 0; starts < 2; ++starts) {
        resolver.start();
        CHECK(resolver.asking());
        const auto found = resolver.poll();
        REQUIRE((found.has_value() && found->has_value()));
        REQUIRE((*found)->size() == 1);
        const SocketAddress& address = (*found)->front();
        CHECK(text_of(address) == text);
        CHECK(address.family() == family);
        CHECK(address.length == length);
        CHECK_FALSE(resolver.asking());
        CHECK_FALSE(resolver.poll().has_value());
    }
}

TEST_CASE("Resolver: a name is asked for in another thread", "[export][unit]") {
    Resolver resolver(collector_at("localhost", 4740), SOCK_STREAM);
    CHECK_FALSE(resolver.is_numeric());
    resolver.start();
    CHECK(resolver.asking());
    std::optional<Resolver::Result> found;
    REQUIRE(wait_until([&] { return (found = resolver.poll()).has_value(); }));
    CHECK_FALSE(resolver.asking());
    REQUIRE(found->has_value());
    for (const SocketAddress& address : **found) {
        const std::string text = text_of(address);
        CHECK((text == "127.0.0.1:4740" || text == "[::1]:4740"));
    }
    CHECK_FALSE((*found)->empty());
}

TEST_CASE("Resolver: a name that cannot be is told in words", "[export][unit]") {
    const std::string too_long(64, 'a');  // a label has 63 octets at the most: no server is asked
    Resolver resolver(collector_at(too_long + ".invalid", 4739), SOCK_DGRAM);
    resolver.start();
    std::optional<Resolver::Result> found;
    REQUIRE(wait_until([&] { return (found = resolver.poll()).has_value(); }));
    REQUIRE_FALSE(found->has_value());
    CHECK_FALSE(found->error().empty());
}

TEST_CASE("Resolver: one that goes while it asks leaves nothing behind", "[export][unit]") {
    for (int i = 0; i < 20; ++i) {
        Resolver resolver(collector_at("localhost", 4739), SOCK_DGRAM);
        resolver.start();
    }
}

TEST_CASE("connect_socket: a datagram leaves from the source address and arrives",
          "[export][unit]") {
    const FileDescriptor collector = bind_loopback(SOCK_DGRAM, 0);
    const std::uint16_t port = port_of(collector);
    const auto source = GENERATE(as<std::string>(), "", "127.0.0.2");
    CollectorOptions options = collector_at("127.0.0.1", port);
    options.source_address = source;
    const auto socket =
        connect_socket(address_of("127.0.0.1", port), SOCK_DGRAM, source_of(options));
    REQUIRE(socket);
    CHECK(
        text_of(local_address(*socket)).starts_with(source.empty() ? "127.0.0.1:" : "127.0.0.2:"));
    CHECK_FALSE(is_connected_to_itself(*socket));
    REQUIRE(::send(socket->get(), "abc", 3, 0) == 3);
    const auto datagram = receive(collector);
    REQUIRE(datagram);
    CHECK(std::string(reinterpret_cast<const char*>(datagram->data()), datagram->size()) == "abc");
    CHECK_FALSE(holds_datagrams(*socket));
    CHECK(take_icmp_error(*socket) == 0);
}

TEST_CASE("connect_socket: a source of the other family or of another host is an errno",
          "[export][unit]") {
    const SocketAddress peer = address_of("127.0.0.1", 4739);
    const auto of_ipv6 = connect_socket(peer, SOCK_DGRAM, address_of("::1", 0));
    REQUIRE_FALSE(of_ipv6);
    CHECK(of_ipv6.error() == EAFNOSUPPORT);
    const auto of_others = connect_socket(peer, SOCK_DGRAM, address_of("192.0.2.1", 0));
    REQUIRE_FALSE(of_others);
    CHECK(of_others.error() == EADDRNOTAVAIL);
}

TEST_CASE("connect_socket: a peer to which nothing may be sent is an errno", "[export][unit]") {
    const auto broadcast =
        connect_socket(address_of("255.255.255.255", 4739), SOCK_DGRAM, std::nullopt);
    REQUIRE_FALSE(broadcast);
    CHECK((broadcast.error() == EACCES || broadcast.error() == ENETUNREACH));  // without a network
}

TEST_CASE("connect_socket: TCP is open where a process listens, and refused elsewhere",
          "[export][unit]") {
    const FileDescriptor listener = bind_loopback(SOCK_STREAM, 0);
    const SocketAddress address = address_of("127.0.0.1", port_of(listener));
    CHECK(outcome_of_tcp(address) == ECONNREFUSED);
    REQUIRE(::listen(listener.get(), 4) == 0);
    CHECK(outcome_of_tcp(address) == 0);
}

TEST_CASE("is_connected_to_itself: a port may be given to the socket that asks for it",
          "[export][unit]") {
    const FileDescriptor chosen = bind_loopback(SOCK_STREAM, 0);
    const SocketAddress address = address_of("127.0.0.1", port_of(chosen));
    const FileDescriptor itself = bind_loopback(SOCK_STREAM, 0);
    const SocketAddress own = local_address(itself);
    CHECK_FALSE(is_connected_to_itself(itself));
    const int error =
        ::connect(itself.get(), reinterpret_cast<const sockaddr*>(&own.storage), own.length);
    REQUIRE((error == 0 || errno == EINPROGRESS));
    CHECK(wait_until([&] { return is_connected_to_itself(itself); }));

    REQUIRE(::listen(chosen.get(), 4) == 0);
    const auto other = connect_socket(address, SOCK_STREAM, std::nullopt);
    REQUIRE(other);
    CHECK_FALSE(is_connected_to_itself(*other));
}

TEST_CASE("take_icmp_error: a datagram to a port without a process is refused, once",
          "[export][unit]") {
    FileDescriptor gone = bind_loopback(SOCK_DGRAM, 0);
    const auto socket =
        connect_socket(address_of("127.0.0.1", port_of(gone)), SOCK_DGRAM, std::nullopt);
    REQUIRE(socket);
    report_refusals(*socket, AF_INET);
    CHECK(take_icmp_error(*socket) == 0);
    gone = FileDescriptor();
    REQUIRE(::send(socket->get(), "abc", 3, 0) == 3);
    int error = 0;
    CHECK(wait_until([&] { return (error = take_icmp_error(*socket)) != 0; }));
    CHECK(error == ECONNREFUSED);
    CHECK(take_icmp_error(*socket) == 0);
}

TEST_CASE("source_of: a local numeric address, and nothing else", "[export][unit]") {
    CollectorOptions collector;
    CHECK_FALSE(source_of(collector).has_value());
    collector.source_address = "127.0.0.1";
    CHECK(text_of(source_of(collector).value()) == "127.0.0.1:0");
    collector.source_address = "192.0.2.1";
    CHECK_THROWS_AS(source_of(collector), ExportError);
    CHECK_THROWS_WITH(source_of(collector),
                      "source address 192.0.2.1: Cannot assign requested address");
    collector.source_address = "localhost";
    CHECK_THROWS_WITH(source_of(collector), "source address localhost: Name or service not known");
}
