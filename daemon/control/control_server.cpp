// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/control/control_socket.hpp"

namespace tributary {
namespace {

using std::chrono::steady_clock;

/// A client that takes nothing of its answer for so long is cut off, while others wait for a
/// thread; without that ControlReply::kPatience.
constexpr std::chrono::milliseconds kPatienceInNeed{50};
/// For a round of the listening thread, which waits for no client.
constexpr std::chrono::seconds kPatience{10};

/// Device and inode of a file; 0 and 0: no file.
std::pair<dev_t, ino_t> file_of(const std::string& path) noexcept {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? std::pair(status.st_dev, status.st_ino)
                                               : std::pair(dev_t{0}, ino_t{0});
}

[[noreturn]] void refuse(const ControlPlace& place, const std::string& why) {
    throw StartupError(EX_CANTCREAT, place.key + " " + place.path + ": " + why);
}

/// Why a socket cannot be made in a folder, and the remedy.
std::string trouble_with_folder(const ControlPlace& place, int error) {
    if (error != ENOENT && error != EACCES && error != EPERM && error != EROFS) {
        return words_for(error);
    }
    const std::string folder = std::filesystem::path(place.path).parent_path().string();
    return fmt::format(
        "{}; user {} needs a folder to write into: as root `install -d -o {} {}`, or name another "
        "path in {} (--set {}=PATH, `tributary --socket PATH`), or another "
        "folder for both programs in RUNTIME_DIRECTORY of the environment; each of several probes "
        "needs one of its own",
        words_for(error), ::geteuid(), ::geteuid(), folder.empty() ? "." : folder, place.key,
        place.key);
}

}  // namespace

ControlServer::ControlServer(ControlPlace where, Commands commands)
    : place_(std::move(where)),
      commands_(std::move(commands)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!wake_) {
        refuse(place_, words_for(errno));
    }
    listen();
    try {
        thread_ = HelperThread({.name = place_.thread, .patience = kPatience},
                               [this](ThreadPlaceInRegistry& place) { run(place); });
    } catch (const std::system_error& error) {
        remove_socket();
        refuse(place_, std::string("no thread for it: ") + error.what());
    }
}

ControlServer::~ControlServer() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    wake();
    thread_.join();
    for (Running& running : running_) {
        ::shutdown(running.command.socket.get(), SHUT_RDWR);
        running.thread.join();
    }
    remove_socket();
}

void ControlServer::wake() const noexcept {
    const std::uint64_t one = 1;
    // It fails only if the count would overflow, and then the waiter wakes anyway.
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void ControlServer::remove_socket() noexcept {
    if (file_of(place_.path) == file_) {  // another process may have made another socket there
        static_cast<void>(::unlink(place_.path.c_str()) == 0);
    }
}

/// Removes the socket of a killed process. Only a refused connection proves that no process listens
/// (unix(7)): a listener with a full queue gives EAGAIN, and a socket of another type, such as
/// syslog's, takes no stream.
void ControlServer::remove_left_over() const {
    const bool is_connected = connect_to_control(place_.path).get() >= 0;
    const int error = is_connected ? 0 : errno;
    if (error == ENOENT) {
        return;
    }
    if (is_connected || error == EAGAIN || error == EPROTOTYPE) {
        refuse(place_, "another process listens there");
    }
    if (error != ECONNREFUSED) {
        refuse(place_, trouble_with_folder(place_, error));
    }
    struct stat status {};
    if (::lstat(place_.path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
        static_cast<void>(::unlink(place_.path.c_str()) == 0);
    }
}

void ControlServer::listen() {
    const std::optional<ControlAddress> address = control_address(place_.path);
    if (!address) {
        refuse(place_, "the path is too long");
    }
    std::error_code unmade;  // then bind() fails with the reason
    std::filesystem::create_directories(std::filesystem::path(place_.path).parent_path(), unmade);
    remove_left_over();
    listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // No client can connect before listen(), so none connects with other rights.
    constexpr uid_t kUnchanged = static_cast<uid_t>(-1);
    const bool is_there =
        listener_ && ::bind(listener_.get(), address->generic(), sizeof(sockaddr_un)) == 0 &&
        (!place_.group || ::chown(place_.path.c_str(), kUnchanged, *place_.group) == 0) &&
        ::chmod(place_.path.c_str(), place_.mode) == 0 && ::listen(listener_.get(), SOMAXCONN) == 0;
    if (!is_there) {
        refuse(place_, trouble_with_folder(place_, errno));
    }
    file_ = file_of(place_.path);
}

void ControlServer::run(ThreadPlaceInRegistry& place) {
    while (serve_once(place)) {
    }
}

/// Waits, and does the work that is due. Without memory it pauses. @return  false: the server ends
bool ControlServer::serve_once(ThreadPlaceInRegistry& place) {
    try {
        if (!wait(place)) {
            return false;
        }
        accept_all();
        receive_all();
        drop_ended();
        start_commands();
        receiver_.close_losers(steady_clock::now());
    } catch (const std::bad_alloc&) {
        pause(steady_clock::now());
    }
    return true;
}

void ControlServer::receive_all() {
    for (const pollfd& fd : fds_) {
        if (fd.revents != 0) {
            receiver_.receive(fd.fd);
        }
    }
}

/// @return  false: the server ends
bool ControlServer::wait(ThreadPlaceInRegistry& place) {
    const Time now = steady_clock::now();
    fds_.clear();
    fds_.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
    fds_.push_back({.fd = now < pause_end_ ? -1 : listener_.get(), .events = POLLIN, .revents = 0});
    receiver_.add_to(fds_);
    const int longest = patience(now);
    place.begin_to_wait();
    ::poll(fds_.data(), fds_.size(), longest);
    place.begin_work();
    std::uint64_t count = 0;
    [[maybe_unused]] const auto octets = ::read(wake_.get(), &count, sizeof count);
    const std::lock_guard lock(mutex_);
    return !is_ending_;
}

/// @return  milliseconds for poll(); -1: for ever
int ControlServer::patience(Time now) const {
    std::optional<Time> next = receiver_.next_event();
    if (now < pause_end_) {
        next = next ? std::min(*next, pause_end_) : pause_end_;
    }
    if (receiver_.has_command()) {  // a command waits for a thread
        next = std::min(next.value_or(Time::max()), now + kPatienceInNeed);
    }
    constexpr std::chrono::milliseconds kNone{0};
    constexpr int kForEver = -1;
    return next ? static_cast<int>(
                      std::max(std::chrono::ceil<std::chrono::milliseconds>(*next - now), kNone)
                          .count())
                : kForEver;
}

void ControlServer::accept_all() {
    // After so many, present connections are served.
    constexpr int kMostAtOnce = 64;
    for (int i = 0; i < kMostAtOnce; ++i) {
        const Time now = steady_clock::now();
        if (now < pause_end_) {
            return;
        }
        FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (socket) {
            const int descriptor = socket.get();
            receiver_.add(std::move(socket), now);
            receiver_.receive(descriptor);  // most clients have sent their command already
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {  // no descriptors, no memory
            pause(now);
            receiver_.make_room();
        }
    }
}

void ControlServer::start_commands() {
    while (receiver_.has_command() && running_.size() < kMostCommands) {
        start(receiver_.take_command());
    }
    if (receiver_.has_command()) {
        cut_off_a_reader(steady_clock::now());
    }
}

void ControlServer::start(CommandReceiver::Command command) {
    Running& running = running_.emplace_back(std::move(command));
    try {
        running.thread = HelperThread({.name = "command"},
                                      [this, &running](ThreadPlaceInRegistry&) { serve(running); });
    } catch (const std::system_error& error) {
        spdlog::warn("control: no thread for a command: {}", error.what());
        running.reply.end("tributaryd gets no more threads");
        running_.pop_back();
    } catch (const std::bad_alloc&) {
        running_.pop_back();
        throw;
    }
}

/// Its thread ends soon and wakes the listener's thread.
void ControlServer::cut_off_a_reader(Time now) noexcept {
    const Running* slowest = nullptr;
    Time since = now - kPatienceInNeed;
    for (const Running& running : running_) {
        if (const auto waits = running.reply.waits_since(); waits && *waits <= since) {
            slowest = &running;
            since = *waits;
        }
    }
    if (slowest == nullptr) {
        return;
    }
    ::shutdown(slowest->command.socket.get(), SHUT_RDWR);
    ++cut_off_;
    if (now >= log_cut_off_at_) {
        spdlog::warn("control: {} client(s) cut off that read too slowly: all {} threads are taken",
                     std::exchange(cut_off_, 0), kMostCommands);
        log_cut_off_at_ = now + ClientPlaces::kLogInterval;
    }
}

void ControlServer::drop_ended() noexcept {
    for (auto running = running_.begin(); running != running_.end();) {
        const auto next = std::next(running);
        std::unique_lock lock(mutex_);
        if (running->has_ended) {
            lock.unlock();
            running->thread.join();
            running_.erase(running);
        }
        running = next;
    }
}

void ControlServer::serve(Running& running) {
    try {
        answer_command(running.command.line, running.reply, commands_);
    } catch (const std::bad_alloc&) {  // a connection without a verdict counts as failed
    }
    ::shutdown(running.command.socket.get(), SHUT_RDWR);  // ends the answer
    {
        const std::lock_guard lock(mutex_);
        running.has_ended = true;
    }
    wake();
}

}  // namespace tributary
