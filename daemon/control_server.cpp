// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_server.hpp"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "daemon/control_socket.hpp"
#include "daemon/startup_error.hpp"

namespace tributary {
namespace {

/// Who has not said what he wants for so long is cut off.
constexpr timeval kPatienceForCommand{.tv_sec = 5, .tv_usec = 0};
/// Who does not read for so long, too. A pager that shows a listing may well wait.
constexpr timeval kPatienceForReader{.tv_sec = 60, .tv_usec = 0};

/// What tells a file from all others; 0 and 0: there is none.
std::pair<dev_t, ino_t> file_of(const std::string& path) noexcept {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? std::pair(status.st_dev, status.st_ino)
                                               : std::pair(dev_t{0}, ino_t{0});
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw StartupError(EX_CANTCREAT, "control.socket " + path + ": " + why);
}

}  // namespace

ControlServer::ControlServer(std::string path, Commands commands)
    : path_(std::move(path)),
      commands_(std::move(commands)),
      stop_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!stop_) {
        refuse(path_, words_for(errno));
    }
    listen();
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
        remove_socket();
        refuse(path_, std::string("no thread for it: ") + error.what());
    }
}

ControlServer::~ControlServer() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_.get(), &one, sizeof one);
    thread_.join();
    for (Connection& connection : connections_) {
        ::shutdown(connection.socket.get(), SHUT_RDWR);
        connection.thread.join();
    }
    remove_socket();
}

void ControlServer::remove_socket() noexcept {
    if (file_of(path_) == file_) {  // another process may have put another one there
        static_cast<void>(::unlink(path_.c_str()) == 0);
    }
}

void ControlServer::listen() {
    const std::optional<ControlAddress> address = control_address(path_);
    if (!address) {
        refuse(path_, "the path is too long");
    }
    std::error_code unmade;  // then bind() says why
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), unmade);
    if (connect_to_control(path_, std::chrono::seconds{1})) {
        refuse(path_, "another process listens there");
    }
    struct stat status {};
    if (::lstat(path_.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
        static_cast<void>(::unlink(path_.c_str()) == 0);  // what a killed process has left
    }
    listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // Nobody can connect before it listens, so nobody does with other rights.
    constexpr mode_t kOwnerAndGroup = 0660;
    const bool is_there = listener_ &&
                          ::bind(listener_.get(), address->generic(), sizeof(sockaddr_un)) == 0 &&
                          ::chmod(path_.c_str(), kOwnerAndGroup) == 0 &&
                          ::listen(listener_.get(), static_cast<int>(kMostConnections)) == 0;
    if (!is_there) {
        refuse(path_, words_for(errno));
    }
    file_ = file_of(path_);
}

void ControlServer::run() {
    std::array<pollfd, 2> fds{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    while (::poll(fds.data(), fds.size(), -1) < 0 || fds[1].revents == 0) {
        if (fds[0].revents != 0 && !accept_one()) {
            constexpr int kMilliseconds = 100;
            ::poll(nullptr, 0, kMilliseconds);
        }
    }
}

/// @return  false: the connection has gone away again, or descriptors or memory have run out
bool ControlServer::accept_one() noexcept {
    drop_ended();
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) {
        return false;
    }
    try {
        begin(std::move(socket));
    } catch (const std::bad_alloc&) {
        return false;  // the socket is closed
    }
    return true;
}

void ControlServer::begin(FileDescriptor socket) {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatienceForCommand,
                 sizeof kPatienceForCommand);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatienceForReader,
                 sizeof kPatienceForReader);
    if (connections_.size() >= kMostConnections) {
        ControlReply(socket.get()).end("too many connections");
        return;
    }
    connections_.emplace_back();
    Connection& connection = connections_.back();
    connection.socket = std::move(socket);
    try {
        connection.thread = std::thread([this, &connection] { serve(connection); });
    } catch (const std::system_error& error) {
        spdlog::warn("control: no thread for a connection: {}", error.what());
        ControlReply(connection.socket.get()).end("tributaryd gets no more threads");
        connections_.pop_back();
    } catch (const std::bad_alloc&) {
        connections_.pop_back();
        throw;
    }
}

void ControlServer::drop_ended() noexcept {
    for (auto connection = connections_.begin(); connection != connections_.end();) {
        const auto next = std::next(connection);
        std::unique_lock lock(mutex_);
        if (connection->has_ended) {
            lock.unlock();
            connection->thread.join();
            connections_.erase(connection);
        }
        connection = next;
    }
}

void ControlServer::serve(Connection& connection) {
    try {
        answer_command(connection.socket.get(), commands_);
    } catch (const std::bad_alloc&) {  // a connection that ends without a verdict has failed
    }
    ::shutdown(connection.socket.get(), SHUT_RDWR);  // its end is the answer's
    const std::lock_guard lock(mutex_);
    connection.has_ended = true;
}

}  // namespace tributary
