// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <istream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "daemon/control/command_receiver.hpp"
#include "daemon/control/control_client.hpp"
#include "daemon/control/control_reply.hpp"
#include "daemon/control/socket_buffer.hpp"
#include "daemon/control/top_screen.hpp"
#include "export/file_descriptor.hpp"

// Input: an octet that chooses what reads it, and what a client sends, a server answers, or a probe
// says in JSON.

using nlohmann::json;
using tributary::CommandReceiver;
using tributary::ControlReply;
using tributary::FileDescriptor;
using tributary::kLongestControlLine;
using tributary::SocketBuffer;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

struct Connection {
    FileDescriptor here;
    FileDescriptor there;
};

Connection connection() {
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// Sends what fits into the socket, which is more than an input has.
void send_all(const FileDescriptor& socket, const std::string& octets) {
    const auto sent =
        ::send(socket.get(), octets.data(), octets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    require(octets.empty() || sent == static_cast<ssize_t>(octets.size()));
    ::shutdown(socket.get(), SHUT_WR);
}

struct Answer {
    std::string octets;
    std::string verdict;
};

Answer read_answer(FileDescriptor socket) {
    SocketBuffer buffer(std::move(socket));
    std::istream stream(&buffer);
    Answer answer;
    answer.octets.assign(std::istreambuf_iterator<char>(stream), {});
    answer.verdict = buffer.verdict();
    return answer;
}

/// A command has the answer that its line asks for, and nothing else has one.
void check_server(const std::string& octets) {
    std::optional<std::string> asked;
    const tributary::ControlCommands commands{
        {"echo",
         [&asked](const std::string& arguments, ControlReply& reply) {
             asked = arguments;
             reply.write(arguments);
             reply.write("");
             reply.write("|");
         }},
        {"fail",
         [](const std::string& arguments, ControlReply& reply) {
             reply.write("a part");
             throw std::runtime_error("why not " + arguments);
         }},
    };
    Connection ends = connection();
    send_all(ends.here, octets);
    CommandReceiver receiver;
    const int there = ends.there.get();
    receiver.add(std::move(ends.there), {});
    for (std::size_t read = 0; read <= octets.size() && !receiver.has_command(); ++read) {
        receiver.receive(there);
    }
    const std::size_t end = octets.find('\n');
    require(receiver.has_command() == (end < kLongestControlLine));
    if (!receiver.has_command()) {
        require(!receiver.next_event());  // it is closed
        return;
    }
    const CommandReceiver::Command command = receiver.take_command();
    require(command.line == octets.substr(0, end));
    ControlReply reply(command.socket.get());
    answer_command(command.line, reply, commands);
    ::shutdown(command.socket.get(), SHUT_RDWR);
    const Answer answer = read_answer(std::move(ends.here));
    if (command.line.starts_with("echo ")) {
        require(asked == command.line.substr(5));
    }
    if (asked) {
        require(answer.octets == *asked + "|" && answer.verdict == "ok");
    } else {
        require(!answer.verdict.empty() && answer.verdict != "ok");
    }
}

/// What a client reads of an answer is in it, in this order, and bounded.
void check_client(const std::string& octets) {
    Connection ends = connection();
    send_all(ends.here, octets);
    const Answer answer = read_answer(std::move(ends.there));
    require(answer.octets.size() + answer.verdict.size() <= octets.size());
    require(answer.verdict.size() < SocketBuffer::kLongestVerdict + 256);
    require(octets.size() < 4 || octets.find(answer.verdict) != std::string::npos);
}

/// Two answers to `stats` and two to `figures`, one after the other behind NULs.
void check_screen(const std::string& octets) {
    std::array<json, 4> documents;
    std::size_t at = 0;
    try {
        for (json& document : documents) {
            const std::size_t end = std::min(octets.find('\0', at), octets.size());
            document = tributary::parse_answer<json>(octets.substr(at, end - at));
            at = end < octets.size() ? end + 1 : 0;  // the last one again
        }
        const tributary::TopLook before{documents[0], documents[1], 1};
        const tributary::TopLook now{documents[2], documents[3], 3};
        tributary::SpoolTrend spools;
        spools.note(before);
        spools.note(now);
        tributary::TopPicture picture;
        picture.before = &before;
        picture.now = &now;
        picture.spools = &spools;
        for (const tributary::ScreenSize size : {tributary::ScreenSize{.rows = 24, .columns = 80},
                                                 tributary::ScreenSize{.rows = 0, .columns = 120},
                                                 tributary::ScreenSize{.rows = 3, .columns = 7}}) {
            const tributary::ScreenLines lines = tributary::top_screen(picture, size);
            require(!lines.empty() && (size.rows == 0 || lines.size() <= size.rows));
        }
    } catch (const json::exception&) {
        return;
    } catch (const tributary::ControlFailure&) {
        return;
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string octets(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0] % 3) {
        case 0:
            check_server(octets);
            break;
        case 1:
            check_client(octets);
            break;
        default:
            check_screen(octets);
    }
    return 0;
}
