// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_client.hpp"

#include <array>
#include <cerrno>

#include "daemon/control/control_reply.hpp"
#include "daemon/control/control_socket.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

std::string silence(std::chrono::seconds timeout) {
    return "no answer for " + std::to_string(timeout.count()) +
           " s (--timeout allows more); the command may still be carried out";
}

/// poll(2) cannot wait for a full queue: connect() is repeated.
FileDescriptor connect(const std::string& path, std::chrono::seconds timeout,
                       const SocketBuffer::Wait& wait) {
    using std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kBetweenTries{20};
    constexpr int kNoSocket = -1;
    const auto deadline = steady_clock::now() + timeout;
    for (;;) {
        FileDescriptor socket = connect_to_control(path);
        if (socket) {
            return socket;
        }
        if (errno != EAGAIN) {
            throw ControlFailure(printable(path) + ": " + words_for(errno) +
                                 " (is tributaryd running, and may you use its socket? --socket "
                                 "names another)");
        }
        if (steady_clock::now() >= deadline) {
            throw ControlFailure(printable(path) + ": " + silence(timeout));
        }
        if (wait(kNoSocket, kBetweenTries) == SocketBuffer::WaitEnd::ended) {
            throw ControlFailure("ended before " + printable(path) + " took the connection");
        }
    }
}

FileDescriptor ask(const std::string& path, const std::string& command,
                   std::chrono::seconds timeout, const SocketBuffer::Wait& wait) {
    const std::string line = command + "\n";
    if (line.size() > kLongestControlLine) {
        throw ControlFailure(too_long_command());
    }
    FileDescriptor socket = connect(path, timeout, wait);
    // A connection refused at once takes no command, but brings the reason.
    static_cast<void>(::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) > 0);
    return socket;
}

}  // namespace

ControlAnswer::ControlAnswer(const std::string& socket, const std::string& command,
                             std::chrono::seconds timeout, const SocketBuffer::Wait& wait)
    : timeout_(timeout),
      buffer_(ask(socket, command, timeout, wait), wait, timeout),
      stream_(&buffer_) {
    if (stream_.peek() == std::istream::traits_type::eof()) {
        check();
        stream_.clear();
    }
}

void ControlAnswer::check() const {
    if (buffer_.timed_out()) {
        throw ControlFailure(silence(timeout_));
    }
    const std::string& verdict = buffer_.verdict();
    if (verdict.empty()) {
        throw ControlFailure("the answer was cut off");
    }
    if (verdict != kGoodVerdict) {
        throw ControlFailure(printable(verdict));
    }
}

std::string ControlAnswer::text() {
    std::string all;
    std::array<char, 16'384> part{};
    while (stream_.read(part.data(), part.size()) || stream_.gcount() > 0) {
        all.append(part.data(), static_cast<std::size_t>(stream_.gcount()));
        if (all.size() > kLongestText) {
            throw ControlFailure("the answer is longer than any of tributaryd's");
        }
    }
    check();
    return all;
}

}  // namespace tributary
