// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/control/control_client.hpp"
#include "daemon/control/control_socket.hpp"
#include "tests/support/control_harness.hpp"
#include "tests/support/exit_code_of.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A server with some commands.
class Served {
public:
    Served() {
        ControlServer::Commands commands;
        commands["echo"] = [](const std::string& arguments, ControlReply& reply) {
            reply.write(arguments);
        };
        commands["parts"] = [](const std::string&, ControlReply& reply) {
            reply.write("one");
            reply.write("");  // is no part
            reply.write("three");
        };
        commands["fail"] = [](const std::string&, ControlReply& reply) {
            reply.write("half");
            throw std::runtime_error("no more of it");
        };
        commands["hold"] = [this](const std::string&, ControlReply& reply) {
            ++held_;
            is_released_.wait(false);
            reply.write("held");
        };
        commands["flood"] = [this](const std::string&, ControlReply& reply) {
            ++held_;
            const std::string page(65'536, 'x');
            while (reply.write(page)) {
            }
            ++flooded_;
        };
        server_ =
            std::make_unique<ControlServer>(ControlPlace{.path = path()}, std::move(commands));
    }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;
    ~Served() {
        release();
        server_.reset();
    }
    [[nodiscard]] std::string path() const { return (directory_ / "control.sock").string(); }
    [[nodiscard]] std::string ask(const std::string& command) const {
        return ControlAnswer(path(), command, 30s).text();
    }
    /// Connects clients with the same command, and waits until all commands run.
    [[nodiscard]] std::deque<ControlPeer> run(const std::string& command, std::size_t count) {
        const std::size_t before = held_;
        std::deque<ControlPeer> clients;
        while (clients.size() < count) {
            clients.emplace_back(path()).send(command + "\n");
        }
        REQUIRE(wait_until([&] { return held_ == before + count; }));
        return clients;
    }
    void release() {
        is_released_ = true;
        is_released_.notify_all();
    }
    void end() { server_.reset(); }
    /// Floods that have ended.
    [[nodiscard]] std::size_t flooded() const { return flooded_; }

private:
    TemporaryDirectory directory_;
    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> flooded_{0};
    std::atomic<bool> is_released_{false};
    std::unique_ptr<ControlServer> server_;
};

ControlServer::Commands no_commands() { return {}; }

int exit_code_at(const std::string& path) {
    return exit_code_of([&path] { const ControlServer server({.path = path}, no_commands()); });
}

void leave_socket_behind(const std::string& path, int type) {
    const FileDescriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    const ControlAddress address = control_address(path).value();
    REQUIRE(::bind(socket.get(), address.generic(), sizeof address.address) == 0);
    REQUIRE((type != SOCK_STREAM || ::listen(socket.get(), 1) == 0));
}

}  // namespace

TEST_CASE("ControlServer: an answer is its parts, an end, and the verdict",
          "[daemon][unit][threads]") {
    const Served served;
    const auto answer_to = [&served](const std::string& octets) {
        const ControlPeer client(served.path());
        client.send(octets);
        return client.read_to_end();
    };
    CHECK(answer_to("echo a b\n") == control_part("a b") + control_end("ok"));
    CHECK(answer_to("echo  a \n") == control_part(" a ") + control_end("ok"));
    CHECK(answer_to("echo\n") == control_end("ok"));
    CHECK(answer_to("parts\n") == control_part("one") + control_part("three") + control_end("ok"));
    CHECK(answer_to("fail\n") == control_part("half") + control_end("no more of it"));
    CHECK(answer_to("echo x\necho y\n") == control_part("x") + control_end("ok"));  // one command
}

TEST_CASE("ControlServer: an unknown command is refused with the reason",
          "[daemon][unit][threads]") {
    const Served served;
    for (const char* line : {"stat", "", " echo", "echox 1", "ECHO", "echo\t1"}) {
        CHECK_THROWS_AS(served.ask(line), ControlFailure);
        CHECK_THROWS_WITH(served.ask(line), "no such command");
    }
    CHECK(served.ask("echo still there") == "still there");
}

TEST_CASE("ControlServer: a command may come octet by octet", "[daemon][unit][threads]") {
    const Served served;
    const ControlPeer slow(served.path());
    for (const char octet : std::string("echo slow")) {
        REQUIRE(slow.send(std::string(1, octet)));
        REQUIRE(served.ask("echo quick") == "quick");  // another one is not held up
        REQUIRE_FALSE(slow.has_octets());
    }
    slow.send("\n");
    CHECK(slow.read_to_end() == control_part("slow") + control_end("ok"));
}

TEST_CASE("ControlServer: a line of 4096 octets is a command, a longer one is refused",
          "[daemon][unit][threads]") {
    const Served served;
    const std::string longest(kLongestControlLine - std::string("echo \n").size(), 'x');
    CHECK(served.ask("echo " + longest) == longest);
    const ControlPeer client(served.path());
    client.send("echo x" + longest + "\n");
    CHECK(client.read_to_end() == control_end(too_long_command()));
    const ControlPeer in_parts(served.path());
    for (int part = 0; part < 4 && in_parts.send(std::string(1024, 'x')); ++part) {
    }
    CHECK(in_parts.read_to_end() == control_end(too_long_command()));
    CHECK_THROWS_WITH(served.ask("echo x" + longest),
                      "the command is longer than 4095 octets: a shorter filter is needed");
    CHECK(served.ask("echo still there") == "still there");
}

TEST_CASE("ControlReply: a client that ends its sending side, or is gone, has enough",
          "[daemon][unit]") {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    const FileDescriptor server(ends[0]);
    std::optional<ControlPeer> client{FileDescriptor(ends[1])};
    ControlReply reply(server.get());
    CHECK_FALSE(reply.has_enough());
    SECTION("it sends more than its command, and ends") {
        client->send("x");
        CHECK_FALSE(reply.has_enough());
        client->end_sending();
        CHECK(reply.has_enough());
        CHECK(reply.write("the rest"));
    }
    SECTION("it sends more than its command, and is gone") {
        client->send("x");
        client.reset();
        CHECK(reply.has_enough());
        CHECK_FALSE(reply.write("the rest"));
    }
    SECTION("it is gone, and has not read all") {
        CHECK(reply.write("a part"));
        client.reset();
        CHECK(reply.has_enough());
    }
}

TEST_CASE("ControlServer: clients that go away hold nothing up", "[daemon][unit][threads]") {
    Served served;
    for (int i = 0; i < 100; ++i) {
        {
            const ControlPeer says_nothing(served.path());
        }
        { ControlPeer(served.path()).send("ec"); }
        { ControlPeer(served.path()).send("parts\n"); }  // and reads nothing
    }
    const ControlPeer half_closed(served.path());
    half_closed.send("echo x\n");
    half_closed.end_sending();
    CHECK(half_closed.read_to_end() == control_part("x") + control_end("ok"));
    CHECK(served.ask("echo still there") == "still there");
}

TEST_CASE("ControlServer: a command learns that its client has gone", "[daemon][unit][threads]") {
    Served served;
    {
        const auto clients = served.run("flood", 1);
        CHECK(clients[0].read(200'000).size() == 200'000);
        CHECK(served.flooded() == 0);
    }
    CHECK(wait_until([&served] { return served.flooded() == 1; }));
}

TEST_CASE("ControlServer: sixteen commands run at the same time, and a further one waits",
          "[daemon][unit][threads]") {
    STATIC_REQUIRE(ControlServer::kMostCommands == 16);
    Served served;
    const auto clients = served.run("hold", ControlServer::kMostCommands);
    const ControlPeer waiting(served.path());
    waiting.send("echo at last\n");
    const ControlPeer waiting_too(served.path());
    waiting_too.send("hold\n");
    CHECK_FALSE(waiting.has_octets());
    served.release();
    for (const ControlPeer& client : clients) {
        CHECK(client.read_to_end() == control_part("held") + control_end("ok"));
    }
    CHECK(waiting.read_to_end() == control_part("at last") + control_end("ok"));
    CHECK(waiting_too.read_to_end() == control_part("held") + control_end("ok"));
}

TEST_CASE("ControlServer: of too many commands that wait the oldest is refused with the reason",
          "[daemon][unit][threads]") {
    STATIC_REQUIRE(CommandReceiver::kMostWaiting == 64);
    Served served;
    const auto clients = served.run("hold", ControlServer::kMostCommands);
    std::deque<ControlPeer> waiting;
    while (waiting.size() <= CommandReceiver::kMostWaiting) {
        waiting.emplace_back(served.path()).send("echo " + std::to_string(waiting.size()) + "\n");
    }
    CHECK(waiting[0].read_to_end() == control_end("too many commands run"));
    served.release();
    for (std::size_t i = 1; i < waiting.size(); ++i) {
        REQUIRE(waiting[i].read_to_end() ==
                control_part(std::to_string(i + 1)) + control_end("ok"));
    }
}

TEST_CASE("ControlServer: where all threads are taken, a command whose client reads nothing ends",
          "[daemon][unit][threads]") {
    Served served;
    const auto clients = served.run("flood", ControlServer::kMostCommands);
    CHECK(served.flooded() == 0);
    CHECK(served.ask("echo at last") == "at last");
    CHECK(served.flooded() == 1);
}

TEST_CASE("ControlServer: of too many silent clients the oldest loses its place",
          "[daemon][unit][threads]") {
    const Served served;
    std::deque<ControlPeer> silent;
    while (silent.size() <= CommandReceiver::kMostWaiting) {
        silent.emplace_back(served.path());
    }
    CHECK(silent[0].read_to_end().empty());
    for (std::size_t i = 1; i < silent.size(); ++i) {
        REQUIRE_FALSE(silent[i].has_ended());
    }
    // The next oldest goes for it, unless the command has come by the time it is taken.
    CHECK(served.ask("echo still there") == "still there");
    silent[2].send("echo me too\n");
    CHECK(silent[2].read_to_end() == control_part("me too") + control_end("ok"));
}

TEST_CASE("ControlServer: its end cuts answers off and removes the socket",
          "[daemon][unit][threads]") {
    Served served;
    const auto clients = served.run("flood", 3);
    const ControlPeer silent(served.path());
    served.end();
    CHECK(served.flooded() == 3);
    CHECK(silent.read_to_end().empty());
    CHECK_FALSE(fs::exists(served.path()));
    CHECK_FALSE(connect_to_control(served.path()));
    CHECK(errno == ENOENT);
}

TEST_CASE("ControlServer: the socket is its owner's and its group's, whatever the umask",
          "[daemon][unit]") {
    const TemporaryDirectory directory;
    const auto mask = GENERATE(as<mode_t>(), 0, 0022, 0777);
    const std::string path = (directory / "control.sock").string();
    const mode_t before = ::umask(mask);
    const ControlServer server({.path = path}, no_commands());
    ::umask(before);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK(S_ISSOCK(status.st_mode));
    CHECK((status.st_mode & 07777U) == 0660);
    CHECK(status.st_uid == ::geteuid());
}

TEST_CASE("ControlServer: the folder of the socket is made", "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "run" / "tributary" / "control.sock").string();
    CHECK(exit_code_at(path) == 0);
    CHECK(fs::is_directory(directory / "run" / "tributary"));
    CHECK_FALSE(fs::exists(path));  // the server has ended
}

TEST_CASE("ControlServer: a socket that a killed process left is replaced", "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "control.sock").string();
    leave_socket_behind(path, SOCK_STREAM);
    CHECK(exit_code_at(path) == 0);
}

TEST_CASE("ControlServer: a socket or file that is in use stays", "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "control.sock").string();
    SECTION("another server's") {
        const ControlServer other({.path = path}, no_commands());
        CHECK(exit_code_at(path) == EX_CANTCREAT);
        CHECK_THROWS_WITH(ControlServer({.path = path}, no_commands()),
                          "control.socket " + path + ": another process listens there");
        CHECK(connect_to_control(path));
    }
    SECTION("a socket for datagrams") {
        const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const ControlAddress address = control_address(path).value();
        REQUIRE(::bind(socket.get(), address.generic(), sizeof address.address) == 0);
        CHECK_THROWS_WITH(ControlServer({.path = path}, no_commands()),
                          "control.socket " + path + ": another process listens there");
        CHECK(fs::is_socket(path));
    }
    SECTION("a file") {
        std::ofstream(path) << "precious";
        CHECK_THROWS_WITH(ControlServer({.path = path}, no_commands()),
                          "control.socket " + path + ": Address already in use");
        CHECK(exit_code_at(path) == EX_CANTCREAT);
        CHECK(fs::file_size(path) == 8);
    }
}

TEST_CASE("ControlServer: at its end another process's socket stays", "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "control.sock").string();
    {
        const ControlServer server({.path = path}, no_commands());
        REQUIRE(::unlink(path.c_str()) == 0);
        leave_socket_behind(path, SOCK_STREAM);
    }
    CHECK(fs::is_socket(path));
}

TEST_CASE("ControlServer: a socket that cannot be made is a StartupError with reason and hint",
          "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string too_long = (directory / std::string(108, 'x')).string();
    CHECK(exit_code_at(too_long) == EX_CANTCREAT);
    CHECK_THROWS_WITH(ControlServer({.path = too_long}, no_commands()),
                      "control.socket " + too_long + ": the path is too long");
    std::ofstream(directory / "file") << "x";
    const std::string below_file = (directory / "file" / "control.sock").string();
    CHECK(exit_code_at(below_file) == EX_CANTCREAT);
    CHECK_THROWS_WITH(ControlServer({.path = below_file}, no_commands()),
                      "control.socket " + below_file + ": Not a directory");
    const std::string in_proc = "/proc/self/control.sock";
    CHECK_THROWS_WITH(ControlServer({.path = in_proc}, no_commands()),
                      Catch::StartsWith("control.socket " + in_proc + ": ") &&
                          Catch::Contains("--set control.socket=PATH"));
}
