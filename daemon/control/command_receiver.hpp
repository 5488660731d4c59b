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

/// The connections to the control socket without a whole command, or with one that waits for a
/// thread. Each needs a descriptor and no thread: a silent client, or one that sends an octet at a
/// time, does not delay the others.
/// @thread  the listener's; never blocks
class CommandReceiver {
public:
    using Time = ClientPlaces::Time;

    struct Command {
        FileDescriptor socket;
        std::string line;  ///< without its line end
    };

    /// Connections at the same time.
    static constexpr std::size_t kMostWaiting = 64;
    /// From the connection to the begin of the answer.
    static constexpr std::chrono::seconds kTotal{5};

    /// @errors  std::bad_alloc: the socket is closed
    void add(FileDescriptor socket, Time now);
    /// Adds the sockets that may become readable.
    void add_to(std::vector<pollfd>& fds) const;
    /// Reads from a socket; closes a connection that has ended or sends no command. A client whose
    /// command is too long gets an answer.
    void receive(int socket);

    [[nodiscard]] bool has_command() const noexcept;
    /// The oldest command. @pre has_command()
    [[nodiscard]] Command take_command();

    /// Closes connections that have waited too long, or are too many.
    void close_losers(Time now);
    /// Closes one, because the system gives no more descriptors.
    void make_room();
    /// When close_losers() has work.
    [[nodiscard]] std::optional<Time> next_event() const noexcept { return places_.next_event(); }

private:
    struct Waiting {
        FileDescriptor socket;
        std::string octets;  ///< received; with a whole line: that line
        bool is_whole = false;
    };
    using Place = std::list<Waiting>::iterator;

    [[nodiscard]] Place find(int socket) noexcept;
    void close(Place waiting) noexcept;
    void turn_away(int socket);

    std::list<Waiting> waiting_;  ///< oldest first
    ClientPlaces places_{{.places = kMostWaiting, .total = kTotal}};
};

}  // namespace tributary
