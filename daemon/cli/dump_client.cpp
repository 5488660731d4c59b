// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/dump_client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

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
#include "export/file_descriptor.hpp"
#include "export/listing/printable_text.hpp"
#include "export/transport/open_output.hpp"

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

/// A file that gets its name when it is whole. What is no regular file is written as it is.
class WholeFile {
public:
    explicit WholeFile(const std::string& path) : path_(or_standard_output(path)) {
        struct stat status {};
        const bool is_there = ::stat(path_.c_str(), &status) == 0;
        written_ = is_there && !S_ISREG(status.st_mode) ? path_ : path_ + ".part";
        if (path == "-") {
            written_ = path_;
        }
        // Only its owner may read the file: it has the content of conversations.
        const mode_t before = ::umask(S_IRWXG | S_IRWXO);
        file_ = open_output(written_, is_apart() ? O_TRUNC : 0).file;
        ::umask(before);
        error_ = file_ ? 0 : errno;
    }
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;
    ~WholeFile() {
        if (file_ && is_apart()) {  // it is not whole
            ::unlink(written_.c_str());
        }
    }

    [[nodiscard]] int error() const noexcept { return error_; }
    /// Without effect after a failure, which error() has.
    void write(std::string_view octets) noexcept {
        while (!octets.empty() && error_ == 0) {
            const ssize_t written = ::write(file_.get(), octets.data(), octets.size());
            if (written >= 0) {
                octets.remove_prefix(static_cast<std::size_t>(written));
            } else if (errno != EINTR) {
                error_ = errno;
            }
        }
    }
    /// Gives it its name.
    [[nodiscard]] bool finish() noexcept {
        const bool is_finished = !is_apart() || (::fsync(file_.get()) == 0 &&
                                                 ::rename(written_.c_str(), path_.c_str()) == 0);
        error_ = is_finished ? 0 : errno;
        if (is_finished) {
            file_ = {};
        }
        return is_finished;
    }

private:
    [[nodiscard]] bool is_apart() const noexcept { return written_ != path_; }

    std::string path_;
    std::string written_;
    FileDescriptor file_;
    int error_ = 0;
};

/// A time of the command line.
std::string check_time(const std::string& text) {
    return parse_time(text) ? std::string() : "must be a time such as 30s, 5m or 1.5h";
}

double seconds_of(const std::string& text) {
    return std::chrono::duration<double>(parse_time(text).value_or(milliseconds(0))).count();
}

int explain(const DumpClientArguments& arguments, int error) {
    if (error == EPIPE) {
        return EX_OK;  // its reader has ended
    }
    std::cerr << "tributary dump: " << printable(arguments.write) << ": " << words_for(error)
              << '\n';
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
    dump->add_option("--socket", arguments.socket,
                     std::string("The recorder's socket (default ") + kControlDirectory + "/" +
                         kRecorderSocketName + ")")
        ->option_text("PATH");
    dump->add_option("--timeout", arguments.timeout,
                     "How long tributaryd may be silent, beside --for (default 30)")
        ->check(CLI::Range(1U, 3600U))
        ->option_text("SECONDS");
}

int run_dump(const DumpClientArguments& arguments) {
    const DumpArguments wanted{.last = seconds_of(arguments.last),
                               .follow = seconds_of(arguments.follow),
                               .filter = arguments.filter};
    const std::string socket =
        arguments.socket.empty() ? default_control_socket(kRecorderSocketName) : arguments.socket;
    const auto silence =
        std::chrono::ceil<std::chrono::seconds>(std::chrono::duration<double>(wanted.follow)) +
        std::chrono::seconds(arguments.timeout);
    catch_signals();
    ControlAnswer answer(socket, "dump " + wanted.to_json(), silence, wait_for_answer);
    WholeFile file(arguments.write);
    std::array<char, 65'536> part{};
    std::istream& packets = answer.stream();
    while (file.error() == 0 && (packets.read(part.data(), part.size()) || packets.gcount() > 0)) {
        file.write({part.data(), static_cast<std::size_t>(packets.gcount())});
    }
    if (file.error() == 0) {
        answer.check();
    }
    return file.error() == 0 && file.finish() ? EX_OK : explain(arguments, file.error());
}

}  // namespace tributary
