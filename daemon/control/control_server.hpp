// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/control/command_receiver.hpp"
#include "daemon/control/control_reply.hpp"
#include "export/file_descriptor.hpp"
#include "export/threads/helper_thread.hpp"

namespace tributary {

/// Where a ControlServer listens.
struct ControlPlace {
    std::string path;                    ///< of the socket; its directory is made if needed
    std::string key = "control.socket";  ///< of the configuration, for messages
    mode_t mode = 0660;                  ///< of the socket: which users may send commands
    std::optional<gid_t> group{};        ///< of the socket; nothing: the process's own
    std::string thread = "control";      ///< the name of its thread
};

/// Takes commands on a unix socket, for `tributary`. The socket's owner, and its group where its
/// mode has that, may send commands.
///
/// control_reply.hpp has the protocol.
///
/// One thread listens and reads the commands (CommandReceiver). Each command gets a thread of its
/// own, so that a slow reader does not delay other clients. When all threads are taken, the client
/// that has taken nothing of its answer for longest is cut off.
class ControlServer {
public:
    using Command = ControlCommand;
    using Commands = ControlCommands;

    /// Commands that run at the same time.
    static constexpr std::size_t kMostCommands = 16;

    /// Makes the socket. It replaces a left-over one without a listener.
    ///
    /// @param where     a left-over socket there is replaced
    /// @param commands  called by the server's threads
    /// @errors  StartupError(73): the socket cannot be made, another process listens there, or no
    ///          thread for it
    /// @thread  main; the server's helper threads get its signal mask
    ControlServer(ControlPlace where, Commands commands);
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;
    /// Cuts the connections off, waits for running commands, and removes the socket.
    ~ControlServer();

private:
    using Time = CommandReceiver::Time;

    struct Running {
        explicit Running(CommandReceiver::Command of) noexcept
            : command(std::move(of)), reply(command.socket.get()) {}

        CommandReceiver::Command command;
        ControlReply reply;
        bool has_ended = false;  ///< guarded by the mutex
        HelperThread thread;
    };

    void listen();
    void remove_left_over() const;
    void run(ThreadPlaceInRegistry& place);
    [[nodiscard]] bool serve_once(ThreadPlaceInRegistry& place);
    [[nodiscard]] bool wait(ThreadPlaceInRegistry& place);
    [[nodiscard]] int patience(Time now) const;
    void accept_all();
    void receive_all();
    void pause(Time now) noexcept { pause_end_ = now + std::chrono::milliseconds{100}; }
    void start_commands();
    void start(CommandReceiver::Command command);
    void cut_off_a_reader(Time now) noexcept;
    void drop_ended() noexcept;
    void serve(Running& running);
    void wake() const noexcept;
    void remove_socket() noexcept;

    ControlPlace place_;
    std::pair<dev_t, ino_t> file_;  ///< of the socket
    Commands commands_;
    FileDescriptor listener_;
    FileDescriptor wake_;  ///< an eventfd: a command or the server has ended
    std::mutex mutex_;
    bool is_ending_ = false;  ///< guarded by the mutex
    // For the listener's thread only:
    CommandReceiver receiver_;
    std::list<Running> running_;
    std::vector<pollfd> fds_;
    Time pause_end_;             ///< no connection is accepted before
    std::uint64_t cut_off_ = 0;  ///< slow readers; not yet logged
    Time log_cut_off_at_;        ///< not before
    HelperThread thread_;
};

}  // namespace tributary
