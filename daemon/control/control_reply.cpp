// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_reply.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

#include "daemon/control/control_socket.hpp"

namespace tributary {

bool ControlReply::write(std::span<const std::byte> octets) {
    const std::uint32_t count = htonl(static_cast<std::uint32_t>(octets.size()));
    return octets.empty() || (send(std::as_bytes(std::span(&count, 1))) && send(octets));
}

void ControlReply::end(std::string_view verdict) {
    constexpr std::uint32_t kNoMore = 0;
    if (std::exchange(has_ended_, true)) {
        return;
    }
    static_cast<void>(send(std::as_bytes(std::span(&kNoMore, 1))) &&
                      send(std::as_bytes(std::span(verdict))));
}

bool ControlReply::send(std::span<const std::byte> octets) {
    while (!octets.empty()) {
        const ssize_t sent = send_some(octets);
        if (sent < 0) {
            return false;
        }
        octets = octets.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

ssize_t ControlReply::send_some(std::span<const std::byte> octets) noexcept {
    // Relaxed: waits_since() reads only an age, and no other memory depends on it.
    waits_since_.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                       std::memory_order_relaxed);
    ssize_t sent = -1;
    do {
        sent = ::send(socket_, octets.data(), octets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && ((errno == EAGAIN && wait_for_reader()) || errno == EINTR));
    waits_since_.store(0, std::memory_order_relaxed);
    return sent;
}

/// Waits until the client has taken something. A blocking send would wait anew after each part.
///
/// @return  false: it took nothing for kPatience
bool ControlReply::wait_for_reader() const noexcept {
    constexpr auto kMost = static_cast<int>(std::chrono::milliseconds(kPatience).count());
    pollfd writable{.fd = socket_, .events = POLLOUT, .revents = 0};
    int ready = -1;
    do {
        ready = ::poll(&writable, 1, kMost);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

bool ControlReply::has_enough() const noexcept {
    // Not recv(): octets behind the command, which are never read, would hide the end. POLLHUP and
    // POLLERR come without being asked for.
    pollfd connection{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return ::poll(&connection, 1, 0) > 0;
}

std::optional<uid_t> ControlReply::user() const noexcept {
    const std::optional<ucred> client = peer_of(socket_);
    return client ? std::optional(client->uid) : std::nullopt;
}

std::optional<ControlReply::Time> ControlReply::waits_since() const noexcept {
    const Time::rep since = waits_since_.load(std::memory_order_relaxed);
    return since == 0 ? std::nullopt : std::optional(Time(Time::duration(since)));
}

void answer_command(const std::string& line, ControlReply& reply, const ControlCommands& commands) {
    const std::size_t space = line.find(' ');
    const auto command = commands.find(line.substr(0, space));
    try {
        if (command == commands.end()) {
            throw std::runtime_error("no such command");
        }
        command->second(space == std::string::npos ? std::string() : line.substr(space + 1), reply);
        reply.end(kGoodVerdict);
    } catch (const std::exception& error) {
        reply.end(error.what());
    }
}

}  // namespace tributary
