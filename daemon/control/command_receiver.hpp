// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/client_places.hpp"
#include "export/file_descriptor.hpp"

namespace tributary {

/// The connections to the control socket whose command has not come yet, or waits for a thread.
/// They cost a descriptor each and no thread: a client that says nothing, or an octet at a time,
/// takes nothing from the others.
/// @thread  the listener's; nothing here blocks
class CommandReceiver {
public:
    using Time = ClientPlaces::Time;

    struct Command {
        FileDescriptor socket;
        std::string line;  ///< without its end
    };

    /// Connections at the same time.
    static constexpr std::size_t kMostWaiting = 64;
    /// From the connection to the begin of the answer.
    static constexpr std::chrono::seconds kTotal{5};

    /// @errors  std::bad_alloc: the socket is closed
    void add(FileDescriptor socket, Time now);
    /// Adds the sockets on which something may come.
    void add_to(std::vector<pollfd>& fds) const;
    /// Reads what has come; a connection that has ended or speaks no command is closed.
    void receive(int socket);

    [[nodiscard]] bool has_command() const noexcept;
    /// The command that came first. @pre has_command()
    [[nodiscard]] Command take_command();

    /// Closes what has waited too long, or is too much.
    void close_losers(Time now);
    /// Closes one, for the system gives no more descriptors.
    void make_room();
    /// When close_losers() has something to do.
    [[nodiscard]] std::optional<Time> next_event() const noexcept { return places_.next_event(); }

private:
    struct Waiting {
        FileDescriptor socket;
        std::string octets;  ///< that have come; with a whole line: that line
        bool is_whole = false;
    };
    using Place = std::list<Waiting>::iterator;

    [[nodiscard]] Place find(int socket) noexcept;
    void close(Place waiting) noexcept;
    void turn_away(int socket);

    std::list<Waiting> waiting_;  ///< the oldest first
    ClientPlaces places_{{.places = kMostWaiting, .total = kTotal}};
};

}  // namespace tributary
