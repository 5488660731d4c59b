// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "daemon/control_reply.hpp"
#include "export/socket.hpp"

namespace tributary {

/// Takes commands on a unix socket, for `tributary`. Who may connect, may command: the socket's
/// mode is 0660.
///
/// control_reply.hpp has the words on the wire.
///
/// Each connection has a thread of its own, so that one that reads slowly holds up no other.
class ControlServer {
public:
    using Command = ControlCommand;
    using Commands = ControlCommands;

    /// Connections at the same time; more are turned away.
    static constexpr std::size_t kMostConnections = 16;

    /// Makes the socket. A left-over one, which nobody listens to, is replaced.
    ///
    /// @param path      of the socket; its directory is made if need be
    /// @param commands  called by the server's threads
    /// @errors  StartupError(73): the socket cannot be made, another process listens there, or
    ///          there is no thread for it
    /// @thread  main; the server's threads get its CPUs and its signal mask
    ControlServer(std::string path, Commands commands);
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;
    /// Cuts the connections off, waits for commands that run, and removes the socket.
    ~ControlServer();

private:
    struct Connection {
        FileDescriptor socket;
        bool has_ended = false;  ///< guarded by the mutex
        std::thread thread;
    };

    void listen();
    void run();
    void remove_socket() noexcept;
    [[nodiscard]] bool accept_one() noexcept;
    void begin(FileDescriptor socket);
    void drop_ended() noexcept;
    void serve(Connection& connection);

    std::string path_;
    std::pair<dev_t, ino_t> file_;  ///< that the socket is
    Commands commands_;
    FileDescriptor listener_;
    FileDescriptor stop_;  ///< an eventfd
    std::mutex mutex_;
    std::list<Connection> connections_;  ///< the list is the listener's thread's alone
    std::thread thread_;
};

}  // namespace tributary
