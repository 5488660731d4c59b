// SPDX-License-Identifier: Apache-2.0
#include "export/file_finisher.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "export/former_part.hpp"
#include "export/open_output.hpp"
#include "export/rename_file.hpp"
#include "export/socket.hpp"

namespace tributary {
namespace {

/// Signals as a fresh process has them, because this one's threads hold some back; a process group
/// of its own, so that all of it can be ended; and no descriptor but the standard ones: not every
/// library opens its own with O_CLOEXEC, and packet sockets and memory are not for a command.
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
    int closing_error_{};  ///< an errno: closing could not be asked for; 0: it was
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

/// Waits for the end of a process, and leaves it to be reaped.
void wait_for_end_of(pid_t child) {
    siginfo_t ignored{};
    while (::waitid(P_PID, static_cast<id_t>(child), &ignored, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
}

/// @return  how a process that has ended did so, where that was not well; else empty
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

/// A name lasts when its directory does.
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
        thread_ = std::thread([this] { run(); });
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

std::string FileFinisher::take_first(std::deque<std::string>& lines) {
    const std::lock_guard lock(mutex_);
    if (lines.empty()) {
        return {};
    }
    std::string first = std::move(lines.front());
    lines.pop_front();
    return first;
}

void FileFinisher::run() {
    drop_ambient_capabilities();
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return ending_ || !files_.empty(); });
        if (files_.empty()) {
            has_ended_ = true;
            changed_.notify_all();
            return;
        }
        FinishedFile file = std::move(files_.front());
        files_.pop_front();
        lock.unlock();
        std::string failure = try_to_finish(file);
        lock.lock();
        if (!failure.empty()) {
            keep(failures_, std::move(failure));
        }
    }
}

/// Has the line told; without memory it is not.
void FileFinisher::keep(std::deque<std::string>& lines, std::string line) noexcept {
    try {
        lines.push_back(std::move(line));
    } catch (const std::bad_alloc&) {
    }
}

/// @return  what went wrong; empty: nothing
std::string FileFinisher::try_to_finish(FinishedFile& done) noexcept {
    try {
        return finish(done);
    } catch (const std::bad_alloc&) {
        return "no memory";  // short enough for a string to hold without memory of its own
    }
}

/// @return  what went wrong; empty: nothing
std::string FileFinisher::finish(FinishedFile& done) {
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
        return done.written_as + " is not sure to be on the disk: " + words_for(errno);
    }
    // The name was free when the file began; a file that has taken it since keeps it.
    if (const int refusal = rename_without_replacing(done.written_as, done.name); refusal != 0) {
        return done.written_as + " cannot be renamed: " + words_for_rename(refusal);
    }
    done.lock = FileDescriptor();
    if (done.sync && !sync_directory_of(done.name)) {
        return done.name + " is not sure to keep its name: " + words_for(errno);
    }
    const std::string failure = done.command.empty() ? std::string() : run_command(done);
    return failure.empty() ? std::string() : "command for " + done.name + ": " + failure;
}

/// @return  what went wrong; empty: nothing
std::string FileFinisher::run_command(const FinishedFile& done) {
    {
        const std::lock_guard lock(mutex_);
        if (!is_patient_) {
            return "not run, because earlier ones took too long";
        }
        const int error = start_command(done, child_);
        if (error != 0) {
            child_ = 0;
            return words_for(error);
        }
    }
    wait_for_end_of(child_);
    const std::lock_guard lock(mutex_);  // end() must kill this child, no later one of its number
    return reap(std::exchange(child_, 0));
}

}  // namespace tributary
