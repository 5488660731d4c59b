// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/command_receiver.hpp"

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/control/control_reply.hpp"
#include "daemon/control/control_socket.hpp"

namespace tributary {
namespace {

/// The client's process, and its user.
ClientPlaces::Client client_of(const FileDescriptor& socket) noexcept {
    constexpr uid_t kNobody = static_cast<uid_t>(-1);  // a user that does not exist
    const ucred process = peer_of(socket.get()).value_or(ucred{.pid = 0, .uid = kNobody, .gid = 0});
    return {.user = process.uid, .process = static_cast<std::uint32_t>(process.pid)};
}

}  // namespace

void CommandReceiver::add(FileDescriptor socket, Time now) {
    const int descriptor = socket.get();
    places_.enter(descriptor, client_of(socket), now);
    try {
        waiting_.push_back({.socket = std::move(socket), .octets = {}});
    } catch (const std::bad_alloc&) {
        places_.leave(descriptor);
        throw;
    }
}

void CommandReceiver::add_to(std::vector<pollfd>& fds) const {
    for (const Waiting& waiting : waiting_) {
        if (!waiting.is_whole) {
            fds.push_back({.fd = waiting.socket.get(), .events = POLLIN, .revents = 0});
        }
    }
}

CommandReceiver::Place CommandReceiver::find(int socket) noexcept {
    return std::ranges::find_if(
        waiting_, [socket](const Waiting& each) { return each.socket.get() == socket; });
}

void CommandReceiver::close(Place waiting) noexcept {
    places_.leave(waiting->socket.get());
    waiting_.erase(waiting);
}

void CommandReceiver::receive(int socket) {
    const Place waiting = find(socket);
    if (waiting == waiting_.end() || waiting->is_whole) {
        return;
    }
    std::array<char, kLongestControlLine> part{};
    const ssize_t octets = ::recv(socket, part.data(), part.size(), MSG_DONTWAIT);
    if (octets < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        return;
    }
    if (octets <= 0) {
        close(waiting);
        return;
    }
    waiting->octets.append(part.data(), static_cast<std::size_t>(octets));
    if (const std::size_t end = command_end(waiting->octets); end != std::string::npos) {
        waiting->octets.resize(end);
        waiting->is_whole = true;
    } else if (waiting->octets.size() >= kLongestControlLine) {
        ControlReply(socket).end(too_long_command());  // nothing was sent before: it fits
        close(waiting);
    }
}

bool CommandReceiver::has_command() const noexcept {
    return std::ranges::any_of(waiting_, &Waiting::is_whole);
}

CommandReceiver::Command CommandReceiver::take_command() {
    const Place first = std::ranges::find_if(waiting_, &Waiting::is_whole);
    Command command{.socket = std::move(first->socket), .line = std::move(first->octets)};
    places_.leave(command.socket.get());
    waiting_.erase(first);
    return command;
}

/// Closes a connection that has lost its place. A client with a whole command gets an answer: all
/// threads are busy.
void CommandReceiver::turn_away(int socket) {
    const Place waiting = find(socket);
    if (waiting->is_whole) {
        ControlReply(socket).end(
            "too many commands run");  // nothing was sent before: it fits into the buffer
    }
    close(waiting);
}

void CommandReceiver::close_losers(Time now) {
    for (const int loser : places_.take_losers(now)) {
        turn_away(loser);
    }
    if (const auto losses = places_.losses_to_log(now)) {
        spdlog::warn("control: {}", words_for(*losses, places_.limits(),
                                              "no command came, or no thread was free,"));
    }
}

void CommandReceiver::make_room() {
    if (const std::optional<int> loser = places_.displace()) {
        turn_away(*loser);
    }
}

}  // namespace tributary
