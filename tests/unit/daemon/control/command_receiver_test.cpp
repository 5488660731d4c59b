// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/command_receiver.hpp"

#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "daemon/control/control_reply.hpp"
#include "tests/support/control_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr CommandReceiver::Time kNow{1000s};

/// A connection whose other end is a client.
struct Connection {
    explicit Connection(CommandReceiver& receiver, CommandReceiver::Time now = kNow)
        : Connection(receiver, now, sockets()) {}
    Connection(CommandReceiver& receiver, CommandReceiver::Time now, std::array<int, 2> ends)
        : client(FileDescriptor(ends[0])), socket(ends[1]) {
        receiver.add(FileDescriptor(ends[1]), now);
    }
    static std::array<int, 2> sockets() {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        return ends;
    }

    ControlPeer client;
    int socket;  ///< the receiver's
};

std::size_t awaited(const CommandReceiver& receiver) {
    std::vector<pollfd> fds;
    receiver.add_to(fds);
    return fds.size();
}

}  // namespace

TEST_CASE("CommandReceiver: a command is whole at its line's end", "[daemon][unit]") {
    CommandReceiver receiver;
    const Connection connection(receiver);
    for (const char* part : {"flo", "ws src", " 192.0.2.1"}) {
        connection.client.send(part);
        receiver.receive(connection.socket);
        CHECK_FALSE(receiver.has_command());
        CHECK(awaited(receiver) == 1);
    }
    connection.client.send("\nwhat follows it");
    receiver.receive(connection.socket);
    REQUIRE(receiver.has_command());
    CHECK(awaited(receiver) == 0);
    const CommandReceiver::Command command = receiver.take_command();
    CHECK(command.line == "flows src 192.0.2.1");
    CHECK(command.socket.get() == connection.socket);
    CHECK_FALSE(receiver.has_command());
    CHECK_FALSE(receiver.next_event().has_value());
}

TEST_CASE("CommandReceiver: commands are taken in the order of their connections",
          "[daemon][unit]") {
    CommandReceiver receiver;
    const Connection first(receiver);
    const Connection second(receiver);
    second.client.send("b\n");
    first.client.send("a\n");
    receiver.receive(second.socket);
    receiver.receive(first.socket);
    CHECK(receiver.take_command().line == "a");
    CHECK(receiver.take_command().line == "b");
}

TEST_CASE("CommandReceiver: a connection that ends, or says too much, is closed",
          "[daemon][unit]") {
    CommandReceiver receiver;
    const Connection ends(receiver);
    ends.client.end_sending();
    receiver.receive(ends.socket);
    CHECK(ends.client.has_ended());
    const Connection says_too_much(receiver);
    says_too_much.client.send(std::string(kLongestControlLine - 1, 'x'));
    receiver.receive(says_too_much.socket);
    CHECK_FALSE(says_too_much.client.has_ended());
    says_too_much.client.send("x");
    receiver.receive(says_too_much.socket);
    CHECK(says_too_much.client.read_to_end() == control_end(too_long_command()));
    CHECK(awaited(receiver) == 0);
    CHECK_FALSE(receiver.has_command());
}

TEST_CASE("CommandReceiver: a socket on which nothing has come, or that is gone, is no fault",
          "[daemon][unit]") {
    CommandReceiver receiver;
    const Connection connection(receiver);
    receiver.receive(connection.socket);
    receiver.receive(connection.socket + 1);
    CHECK(awaited(receiver) == 1);
    CHECK_FALSE(connection.client.has_ended());
}

TEST_CASE("CommandReceiver: after five seconds a client is closed, however often it speaks",
          "[daemon][unit]") {
    CommandReceiver receiver;
    const Connection early(receiver);
    const Connection late(receiver, kNow + 1ms);
    const Connection whole(receiver, kNow + 2ms);
    CHECK(receiver.next_event() == kNow + 5s);
    early.client.send("fl");
    receiver.receive(early.socket);
    whole.client.send("flows\n");
    receiver.receive(whole.socket);
    receiver.close_losers(kNow + 5s - 1ns);
    CHECK_FALSE(early.client.has_ended());
    receiver.close_losers(kNow + 5s);
    CHECK(early.client.read_to_end().empty());
    CHECK_FALSE(late.client.has_ended());
    receiver.close_losers(kNow + 6s);
    CHECK(late.client.has_ended());
    CHECK(whole.client.read_to_end() == control_end("too many commands run"));
    CHECK_FALSE(receiver.has_command());
}

TEST_CASE("CommandReceiver: for want of descriptors the oldest connection goes", "[daemon][unit]") {
    CommandReceiver receiver;
    const Connection first(receiver);
    const Connection second(receiver);
    receiver.make_room();
    CHECK(first.client.has_ended());
    CHECK_FALSE(second.client.has_ended());
    receiver.make_room();
    CHECK(second.client.has_ended());
    receiver.make_room();  // there is none any more
    CHECK(awaited(receiver) == 0);
}
