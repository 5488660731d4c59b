// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "export/socket.hpp"

namespace tributary {

/// The answer to one command, on its way to whoever gave it.
class ControlReply {
public:
    explicit ControlReply(int socket) noexcept : socket_(socket) {}

    /// @return  false: nobody reads it any more
    /// @thread  the command's
    bool write(std::span<const std::byte> octets);
    bool write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
    /// The end of the answer.
    ///
    /// @param verdict  kGoodVerdict, or why the command failed
    void end(std::string_view verdict);

private:
    bool send(std::span<const std::byte> octets);

    int socket_;
};

/// Takes commands on a unix socket, for `tributary`. Who may connect, may command: the socket's
/// mode is 0660.
///
///     -> a command's name and its arguments, a line
///     <- what the command writes, in parts: each part's octets (32 bits, network byte order), and
///        the part
///     <- 0 octets, and behind that "ok", or why the command failed
///
/// Each connection has a thread of its own, so that one that reads slowly holds up no other.
class ControlServer {
public:
    /// Writes the answer; what it throws is said at the answer's end.
    using Command = std::function<void(const std::string& arguments, ControlReply& reply)>;
    using Commands = std::map<std::string, Command, std::less<>>;

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
    void answer(int socket) const;

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
