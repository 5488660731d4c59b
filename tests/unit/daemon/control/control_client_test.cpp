// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_client.hpp"

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "daemon/control/control_socket.hpp"
#include "tests/support/control_harness.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// A server at the control socket. It takes one connection, and hands it to a function of the test.
class FakeServer {
public:
    explicit FakeServer(std::function<void(const ControlPeer&)> serve)
        : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const ControlAddress address = control_address(path()).value();
        REQUIRE(::bind(listener_.get(), address.generic(), sizeof address.address) == 0);
        REQUIRE(::listen(listener_.get(), 1) == 0);
        thread_ = std::thread([this, serve = std::move(serve)] {
            const ControlPeer client(
                FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
            serve(client);
        });
    }
    FakeServer(const FakeServer&) = delete;
    FakeServer& operator=(const FakeServer&) = delete;
    ~FakeServer() {
        ::shutdown(listener_.get(), SHUT_RDWR);
        thread_.join();
    }
    [[nodiscard]] std::string path() const { return (directory_ / "control.sock").string(); }

private:
    TemporaryDirectory directory_;
    FileDescriptor listener_;
    std::thread thread_;
};

/// The answer of a server that sends these octets: its text, or the failure in braces.
std::string client_makes_of(const std::string& octets, bool octet_by_octet = false) {
    const FakeServer server([&](const ControlPeer& client) {
        static_cast<void>(client.read(6) == "stats\n");
        for (std::size_t at = 0; octet_by_octet && at < octets.size(); ++at) {
            client.send(octets.substr(at, 1));
        }
        if (!octet_by_octet) {
            client.send(octets);
        }
    });
    try {
        return ControlAnswer(server.path(), "stats", 30s).text();
    } catch (const ControlFailure& failure) {
        return "{" + std::string(failure.what()) + "}";
    }
}

}  // namespace

TEST_CASE("ControlAnswer: the command is one line, and the answer its parts",
          "[daemon][unit][threads]") {
    std::string command;
    const FakeServer server([&command](const ControlPeer& client) {
        command = client.read(std::string("flows src 192.0.2.1\n").size());
        client.send(control_part("one ") + control_part("two") + control_end("ok"));
    });
    ControlAnswer answer(server.path(), "flows src 192.0.2.1", 30s);
    std::string word;
    answer.stream() >> word;
    CHECK(word == "one");
    CHECK(answer.text() == " two");
    CHECK(command == "flows src 192.0.2.1\n");
}

TEST_CASE("ControlAnswer: parts come as the socket has them", "[daemon][unit][threads]") {
    const std::string large(1'000'000, 'x');
    CHECK(client_makes_of(control_part("one ") + control_part("two") + control_end("ok"), true) ==
          "one two");
    CHECK((client_makes_of(control_part(large) + control_part("y") + control_end("ok")) ==
           large + "y"));
    CHECK(client_makes_of(control_end("ok"), true).empty());
    const std::string binary("\0\n\xFF ok", 6);
    CHECK(client_makes_of(control_part(binary) + control_end("ok")) == binary);
}

TEST_CASE("ControlAnswer: an answer that is cut anywhere is no answer", "[daemon][unit][threads]") {
    const std::string whole = control_part("one") + control_part("two") + control_end("ok");
    for (std::size_t cut = 0; cut < whole.size() - 1; ++cut) {
        REQUIRE(client_makes_of(whole.substr(0, cut)) == "{the answer was cut off}");
    }
    CHECK(client_makes_of(whole.substr(0, whole.size() - 1)) == "{o}");  // no good verdict
    CHECK(client_makes_of(whole) == "onetwo");
}

TEST_CASE("ControlAnswer: a verdict other than ok is the failure, as one printable line",
          "[daemon][unit][threads]") {
    CHECK(client_makes_of(control_end("no such command")) == "{no such command}");
    CHECK(client_makes_of(control_part("half") + control_end("it hangs")) == "{it hangs}");
    CHECK(client_makes_of(control_end("ok ")) == "{ok }");
    CHECK(client_makes_of(control_end("\x1b[2Jred\n")) == "{\\x1b[2Jred\\x0a}");
    const std::string failure = client_makes_of(control_end(std::string(100'000, 'x')));
    CHECK(failure.size() >= SocketBuffer::kLongestVerdict);
    CHECK(failure.size() < SocketBuffer::kLongestVerdict + 1000);
}

TEST_CASE("ControlAnswer: a refusal without a part is thrown by the constructor",
          "[daemon][unit][threads]") {
    const FakeServer server([](const ControlPeer& client) {
        client.send(control_end("too many commands run"));
        static_cast<void>(client.read(6));
    });
    CHECK_THROWS_WITH(ControlAnswer(server.path(), "stats", 30s), "too many commands run");
}

TEST_CASE("ControlAnswer: silence for longer than the timeout is a failure",
          "[daemon][unit][threads]") {
    const auto said = GENERATE(as<std::string>(), "", control_part("one"));
    const FakeServer server([&said](const ControlPeer& client) {
        client.send(said);
        static_cast<void>(client.read_to_end());  // until the client has gone
    });
    const auto hear_the_part = [waits = 0, least = said.empty() ? 0 : 2](
                                   int socket, std::chrono::milliseconds most) mutable {
        CHECK(most == 7s);
        return waits++ < least ? SocketBuffer::wait_idly(socket, most)
                               : SocketBuffer::WaitEnd::timed_out;
    };
    CHECK_THROWS_WITH(ControlAnswer(server.path(), "stats", 7s, hear_the_part).text(),
                      Catch::StartsWith("no answer for 7 s (--timeout allows more); "));
}

TEST_CASE("ControlAnswer: without a process that listens there is none", "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "control.sock").string();
    const std::string hint =
        " (is tributaryd running, and may you use its socket? --socket names another)";
    CHECK_THROWS_WITH(ControlAnswer(path, "stats", 30s),
                      path + ": No such file or directory" + hint);
    {
        const FileDescriptor left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const ControlAddress address = control_address(path).value();
        REQUIRE(::bind(left.get(), address.generic(), sizeof address.address) == 0);
    }
    CHECK_THROWS_WITH(ControlAnswer(path, "stats", 30s), path + ": Connection refused" + hint);
    const std::string too_long(200, 'x');
    CHECK_THROWS_WITH(ControlAnswer(too_long, "stats", 30s),
                      too_long + ": File name too long" + hint);
}

TEST_CASE("ControlAnswer: a listener with a full queue is waited for", "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "control.sock").string();
    const FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const ControlAddress address = control_address(path).value();
    REQUIRE(::bind(listener.get(), address.generic(), sizeof address.address) == 0);
    REQUIRE(::listen(listener.get(), 0) == 0);
    const FileDescriptor first = connect_to_control(path);  // takes the only place
    REQUIRE(first);
    CHECK_FALSE(connect_to_control(path));
    CHECK(errno == EAGAIN);
    int waits = 0;
    const auto wait = [&waits](int socket, std::chrono::milliseconds) {
        CHECK(socket == -1);
        return ++waits < 3 ? SocketBuffer::WaitEnd::timed_out : SocketBuffer::WaitEnd::ended;
    };
    CHECK_THROWS_WITH(ControlAnswer(path, "stats", 30s, wait),
                      "ended before " + path + " took the connection");
    CHECK(waits == 3);
    CHECK_THROWS_WITH(ControlAnswer(path, "stats", 0s, wait),
                      Catch::StartsWith(path + ": no answer for 0 s (--timeout allows more); "));
}

TEST_CASE("parse_answer: JSON that no tributaryd writes is refused", "[daemon][unit]") {
    using nlohmann::json;
    CHECK(parse_answer<json>(R"({"packets": [1, 18446744073709551615]})")["packets"][1] ==
          18446744073709551615U);
    CHECK_THROWS_AS(parse_answer<json>(std::string(100, '[') + std::string(100, ']')),
                    ControlFailure);
    CHECK_THROWS_AS(parse_answer<json>("[1e300]"), ControlFailure);
    CHECK_THROWS_AS(parse_answer<json>("{"), json::exception);
}

TEST_CASE("control_address: a path that a socket has room for", "[daemon][unit]") {
    CHECK(control_address(std::string(107, 'x')).has_value());
    CHECK_FALSE(control_address(std::string(108, 'x')).has_value());
    CHECK(std::string(control_address("/run/x.sock").value().address.sun_path) == "/run/x.sock");
}

TEST_CASE("default_control_socket: the folder that systemd has made, or /run/tributary",
          "[daemon][unit]") {
    EnvironmentVariable folder("RUNTIME_DIRECTORY", "/run/a");
    CHECK(default_control_socket() == "/run/a/control.sock");
    folder.set(nullptr);
    CHECK(default_control_socket() == "/run/tributary/control.sock");
}
