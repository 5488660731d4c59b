// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/dump_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <string_view>

#include "conf/scalars.hpp"
#include "daemon/base/standard_streams.hpp"
#include "daemon/control/control_client.hpp"
#include "daemon/control/control_socket.hpp"
#include "daemon/recorder/dump_command.hpp"
#include "daemon/recorder/whole_file.hpp"
#include "daemon/trigger/trigger_arguments.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

volatile std::sig_atomic_t has_signal = 0;

void note_signal(int /*signal*/) { has_signal = 1; }

/// SIGINT and SIGTERM end waits, and nothing else.
void catch_signals() {
    struct sigaction action {};
    action.sa_handler = note_signal;
    sigemptyset(&action.sa_mask);
    for (const int signal : {SIGINT, SIGTERM}) {
        ::sigaction(signal, &action, nullptr);
    }
}

/// Waits for the socket; a signal asks the other side to end its answer.
SocketBuffer::WaitEnd wait_for_answer(int socket, milliseconds most) {
    constexpr int kPollTime = 200;  // a signal between the test and the wait is seen after it
    const auto deadline = steady_clock::now() + most;
    for (;;) {
        if (has_signal != 0 && socket >= 0) {
            ::shutdown(socket, SHUT_WR);
        }
        pollfd fd{.fd = socket, .events = POLLIN, .revents = 0};
        if (::poll(&fd, 1, kPollTime) > 0) {
            return SocketBuffer::WaitEnd::ready;
        }
        if (has_signal != 0 && socket < 0) {
            return SocketBuffer::WaitEnd::ended;
        }
        if (most.count() >= 0 && steady_clock::now() >= deadline) {
            return SocketBuffer::WaitEnd::timed_out;
        }
    }
}

/// A time of the command line.
std::string check_time(const std::string& text) {
    return parse_time(text) ? std::string() : "must be a time such as 30s, 5m or 1.5h";
}

double seconds_of(const std::string& text) {
    return std::chrono::duration<double>(parse_time(text).value_or(milliseconds(0))).count();
}

void add_socket(CLI::App& command, std::string& socket, std::uint32_t& timeout) {
    command
        .add_option("--socket", socket,
                    std::string("The recorder's socket (default ") + kControlDirectory + "/" +
                        kRecorderSocketName + ")")
        ->option_text("PATH");
    command
        .add_option("--timeout", timeout,
                    "How long tributaryd may be silent, beside --for (default 30)")
        ->check(CLI::Range(1U, 3600U))
        ->option_text("SECONDS");
}

std::string socket_of(const std::string& given) {
    return given.empty() ? default_control_socket(kRecorderSocketName) : given;
}

int explain(const WholeFile& file) {
    if (file.error() == EPIPE) {
        return EX_OK;  // its reader has ended
    }
    std::cerr << "tributary dump: " << printable(file.explain()) << '\n';
    return EX_IOERR;
}

}  // namespace

void add_dump(CLI::App& app, DumpClientArguments& arguments) {
    CLI::App* const dump = app.add_subcommand(
        "dump", "Write the last packets of a running tributaryd's recorder as pcapng");
    dump->add_option("--last", arguments.last, "How far back packets begin (default 30s)")
        ->check(check_time)
        ->option_text("TIME");
    dump->add_option("--for", arguments.follow,
                     "How long packets that come from now on are written too (default 0)")
        ->check(check_time)
        ->option_text("TIME");
    dump->add_option("--filter", arguments.filter, "Packets to write, in pcap syntax (default all)")
        ->option_text("FILTER");
    dump->add_option("--write", arguments.write,
                     "The file; - is standard output, as for wireshark -k -i -")
        ->required()
        ->option_text("FILE");
    add_socket(*dump, arguments.socket, arguments.timeout);
}

void add_trigger(CLI::App& app, TriggerClientArguments& arguments) {
    CLI::App* const trigger = app.add_subcommand(
        "trigger", "Fire a trigger of a running tributaryd by hand: it writes a file of packets");
    trigger->add_option("NAME", arguments.name, "The trigger's name")->required();
    trigger
        ->add_option("--last", arguments.last,
                     "How far back packets begin (default: `before` of the trigger)")
        ->check(check_time)
        ->option_text("TIME");
    trigger
        ->add_option("--filter", arguments.filter, "Packets to write, in pcap syntax (default all)")
        ->option_text("FILTER");
    add_socket(*trigger, arguments.socket, arguments.timeout);
}

int run_trigger(const TriggerClientArguments& arguments) {
    TriggerArguments wanted{.name = arguments.name, .filter = arguments.filter};
    if (!arguments.last.empty()) {
        wanted.last = seconds_of(arguments.last);
    }
    ControlAnswer answer(socket_of(arguments.socket), "trigger " + wanted.to_json(),
                         std::chrono::seconds(arguments.timeout));
    std::cout << printable_lines(answer.text());
    return end_output("tributary trigger");
}

int run_dump(const DumpClientArguments& arguments) {
    const DumpArguments wanted{.last = seconds_of(arguments.last),
                               .follow = seconds_of(arguments.follow),
                               .filter = arguments.filter};
    const auto silence =
        std::chrono::ceil<std::chrono::seconds>(std::chrono::duration<double>(wanted.follow)) +
        std::chrono::seconds(arguments.timeout);
    catch_signals();
    ControlAnswer answer(socket_of(arguments.socket), "dump " + wanted.to_json(), silence,
                         wait_for_answer);
    WholeFile file(arguments.write);
    std::array<char, 65'536> part{};
    std::istream& packets = answer.stream();
    // Of what has come, as much as there is: a program that reads the file sees it at once.
    while (file.error() == 0 && packets.peek() != std::istream::traits_type::eof()) {
        const std::streamsize octets = packets.readsome(part.data(), part.size());
        file.write({part.data(), static_cast<std::size_t>(octets)});
    }
    if (file.error() == 0) {
        answer.check();
    }
    return file.error() == 0 && file.finish() ? EX_OK : explain(file);
}

}  // namespace tributary
