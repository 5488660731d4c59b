// SPDX-License-Identifier: Apache-2.0
#include "export/transport/file_finisher.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "export/file_descriptor.hpp"
#include "export/transport/former_part.hpp"
#include "export/transport/open_output.hpp"
#include "export/transport/rename_file.hpp"

namespace tributary {
namespace {

/// The attributes of a fresh process. Signals have their defaults, because this process's threads
/// block some. The process group is its own, so that all of it can be ended. Only the standard
/// descriptors stay open: not every library opens its own with O_CLOEXEC, and packet sockets and
/// memory are not for a command.
class FreshProcess {
public:
    FreshProcess() {
        ::posix_spawnattr_init(&attributes_);
        sigset_t none;
        sigset_t all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        ::posix_spawn_file_actions_init(&actions_);
        closing_error_ = ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    }
    FreshProcess(const FreshProcess&) = delete;
    FreshProcess& operator=(const FreshProcess&) = delete;
    ~FreshProcess() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    /// Starts /bin/sh.
    ///
    /// @return  an errno
    [[nodiscard]] int start(pid_t& child, char* const* arguments) const {
        return closing_error_ != 0
                   ? closing_error_
                   : ::posix_spawn(&child, "/bin/sh", &actions_, &attributes_, arguments, environ);
    }

private:
    posix_spawnattr_t attributes_{};
    posix_spawn_file_actions_t actions_{};
    int closing_error_{};  ///< an errno: descriptors cannot be closed in the child; 0: they can
};

/// Commands that this thread starts get none of the capabilities that the service manager has given
/// the probe.
void drop_ambient_capabilities() {
    static_cast<void>(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
}

/// Starts a command for the shell, in a process group of its own.
///
/// @return  an errno
int start_command(const FinishedFile& done, pid_t& child) {
    const std::string line = done.command + " \"$1\"";
    const std::array<const char*, 6> arguments{"sh",   "-c", line.c_str(), "sh", done.name.c_str(),
                                               nullptr};
    const FreshProcess fresh;
    // posix_spawn() only reads its arguments; its interface has no const.
    return fresh.start(child, const_cast<char* const*>(arguments.data()));
}

/// Whether a process has ended. It is left to be reaped.
bool has_ended(pid_t child) {
    siginfo_t state{};
    return ::waitid(P_PID, static_cast<id_t>(child), &state, WEXITED | WNOHANG | WNOWAIT) != 0
               ? errno != EINTR
               : state.si_pid == child;
}

/// @return  how a process that has ended failed; empty: it succeeded
std::string reap(pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, 0) < 0) {
        return words_for(errno);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return {};
    }
    return WIFEXITED(status) ? "exit status " + std::to_string(WEXITSTATUS(status))
                             : "signal " + std::to_string(WTERMSIG(status));
}

/// A file's name is on the disk when its directory is.
bool sync_directory_of(const std::string& name) {
    const std::string directory = std::filesystem::path(name).parent_path().string();
    const FileDescriptor open =
        open_patiently(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY);
    return open && ::fsync(open.get()) == 0;
}

bool sync_file(const std::string& name) {
    const FileDescriptor open = open_patiently(name.c_str(), O_RDONLY);
    return open && ::fsync(open.get()) == 0;
}

}  // namespace

FileFinisher::FileFinisher() {
    try {
        thread_ = HelperThread({.name = "files", .patience = kLongCommand},
                               [this](ThreadPlaceInRegistry& place) { run(place); });
    } catch (const std::system_error& error) {
        throw std::system_error(error.code(), "no thread to finish files");
    }
}
FileFinisher::~FileFinisher() { end(); }

void FileFinisher::end() {
    if (!thread_.joinable()) {
        return;
    }
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, kPatience, [this] { return has_ended_; })) {
        is_patient_ = false;
        if (child_ != 0) {
            ::kill(-child_, SIGKILL);
        }
    }
    lock.unlock();
    thread_.join();
}

void FileFinisher::add(std::list<FinishedFile>& files) noexcept {
    const std::lock_guard lock(mutex_);
    files_.splice(files_.end(), files);
    changed_.notify_all();
}

void FileFinisher::run(ThreadPlaceInRegistry& place) {
    drop_ambient_capabilities();
    std::unique_lock lock(mutex_);
    for (;;) {
        place.begin_to_wait();
        changed_.wait(lock, [this] { return ending_ || !files_.empty() || !named_.empty(); });
        place.begin_work();
        if (!files_.empty()) {
            name_first(lock);
        } else if (!named_.empty()) {
            give_first_to_command(lock, place);
        } else {
            has_ended_ = true;
            changed_.notify_all();
            return;
        }
    }
}

void FileFinisher::name_first(Lock& lock) {
    std::list<FinishedFile> one;
    one.splice(one.end(), files_, files_.begin());
    lock.unlock();
    std::string failure = try_to_name(one.front());
    lock.lock();
    if (!failure.empty()) {
        keep(failures_, Failure{.text = std::move(failure)});
    } else if (!one.front().command.empty()) {
        named_.splice(named_.end(), one);
    }
}

void FileFinisher::give_first_to_command(Lock& lock, ThreadPlaceInRegistry& place) {
    std::list<FinishedFile> one;
    one.splice(one.end(), named_, named_.begin());
    try {
        std::string failure = run_command(lock, place, one.front());
        if (!failure.empty()) {
            keep(failures_, Failure{.text = "command for " + one.front().name + ": " + failure,
                                    .is_news = failure != command_failure_});
        }
        command_failure_ = std::move(failure);
    } catch (const std::bad_alloc&) {
        // Short enough for a string to hold without memory of its own.
        keep(failures_, Failure{.text = "no memory"});
    }
}

/// Until the command ends, further files get their names.
void FileFinisher::watch_command(Lock& lock, ThreadPlaceInRegistry& place,
                                 const std::string& name) {
    constexpr std::chrono::milliseconds kLongestLook{32};
    std::chrono::milliseconds look{1};
    using Clock = std::chrono::steady_clock;
    const Clock::time_point began = Clock::now();
    auto logged = std::chrono::seconds{0};
    while (!has_ended(child_)) {
        changed_.wait_for(lock, look, [this] { return !files_.empty(); });
        look = std::min(2 * look, kLongestLook);
        place.begin_work();  // each look: a long command is logged, and is no hanging thread
        if (!files_.empty()) {
            name_first(lock);
        }
        const auto lasts = std::chrono::floor<std::chrono::seconds>(Clock::now() - began);
        if (lasts >= logged + kLongCommand) {
            logged = lasts;
            log_long_command(name, lasts);
        }
    }
}

/// The command must be waited for and reaped, also without memory for the line.
void FileFinisher::log_long_command(const std::string& name, std::chrono::seconds lasts) noexcept {
    try {
        keep(failures_, Failure{.text = "command for " + name + " still runs after " +
                                        std::to_string(lasts.count()) + " s, and " +
                                        std::to_string(named_.size()) + " files wait for theirs"});
    } catch (const std::bad_alloc&) {
    }
}

/// @return  the failure; empty: none
std::string FileFinisher::try_to_name(FinishedFile& done) noexcept {
    try {
        return name(done);
    } catch (const std::bad_alloc&) {
        return "no memory";  // short enough for a string to hold without memory of its own
    }
}

/// @return  the failure; empty: none
std::string FileFinisher::name(FinishedFile& done) {
    if (done.is_former) {
        FormerPart part = mend_former_part(done.written_as);
        if (!part.note.empty()) {
            const std::lock_guard lock(mutex_);
            keep(notes_, std::move(part.note));
        }
        if (!part.is_whole) {
            return part.failure;
        }
        done.lock = std::move(part.lock);
    }
    if (done.sync && !sync_file(done.written_as)) {
        return done.written_as + " may not be on the disk: " + words_for(errno);
    }
    // The name was free when the file began; a file that has taken it since keeps it.
    if (const int refusal = rename_without_replacing(done.written_as, done.name); refusal != 0) {
        return done.written_as + " cannot be renamed: " + words_for_rename(refusal);
    }
    done.lock = FileDescriptor();
    if (done.sync && !sync_directory_of(done.name)) {
        return done.name + " may lose its name: " + words_for(errno);
    }
    return {};
}

/// @return  the failure; empty: none
std::string FileFinisher::run_command(Lock& lock, ThreadPlaceInRegistry& place,
                                      const FinishedFile& done) {
    if (!is_patient_) {
        return "not run, because earlier ones took too long";
    }
    const int error = start_command(done, child_);
    if (error != 0) {
        child_ = 0;
        return words_for(error);
    }
    watch_command(lock, place, done.name);
    return reap(
        std::exchange(child_, 0));  // end() must kill this child, no later one of its number
}

}  // namespace tributary
