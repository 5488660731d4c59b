// SPDX-License-Identifier: Apache-2.0
#include "export/file_finisher.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

namespace tributary {
namespace {

/// Signals as a fresh process has them: this one's threads hold some back.
class FreshSignals {
public:
    FreshSignals() {
        ::posix_spawnattr_init(&attributes_);
        sigset_t none;
        sigset_t all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    FreshSignals(const FreshSignals&) = delete;
    FreshSignals& operator=(const FreshSignals&) = delete;
    ~FreshSignals() { ::posix_spawnattr_destroy(&attributes_); }
    [[nodiscard]] const posix_spawnattr_t* get() const noexcept { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

/// Runs a command to its end. @return  what went wrong; empty: nothing
std::string run_command(const std::string& command, const std::string& name) {
    const std::string line = command + " \"$1\"";
    const std::array<const char*, 6> arguments{"sh", "-c",         line.c_str(),
                                               "sh", name.c_str(), nullptr};
    const FreshSignals signals;
    pid_t child = 0;
    // posix_spawn() only reads its arguments; its interface has no const.
    const int error = ::posix_spawn(&child, "/bin/sh", nullptr, signals.get(),
                                    const_cast<char* const*>(arguments.data()), environ);
    if (error != 0) {
        return std::string(words_for(error));
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return words_for(errno);
        }
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
    const FileDescriptor open(
        ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return open && ::fsync(open.get()) == 0;
}

/// @return  what went wrong; empty: nothing
std::string finish(const FinishedFile& done) {
    if (done.sync && ::fsync(done.file.get()) != 0) {
        return done.written_as + " is not sure to be on the disk: " + words_for(errno);
    }
    if (::rename(done.written_as.c_str(), done.name.c_str()) != 0) {
        return done.written_as + " cannot be renamed: " + words_for(errno);
    }
    if (done.sync && !sync_directory_of(done.name)) {
        return done.name + " is not sure to keep its name: " + words_for(errno);
    }
    const std::string failure =
        done.command.empty() ? std::string() : run_command(done.command, done.name);
    return failure.empty() ? std::string() : "command for " + done.name + ": " + failure;
}

}  // namespace

FileFinisher::FileFinisher() : thread_([this] { run(); }) {}
FileFinisher::~FileFinisher() { end(); }

void FileFinisher::end() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void FileFinisher::add(FinishedFile file) {
    const std::lock_guard lock(mutex_);
    files_.push_back(std::move(file));
    changed_.notify_one();
}

std::string FileFinisher::take_failure() {
    const std::lock_guard lock(mutex_);
    if (failures_.empty()) {
        return {};
    }
    std::string first = std::move(failures_.front());
    failures_.pop_front();
    return first;
}

void FileFinisher::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return ending_ || !files_.empty(); });
        if (files_.empty()) {
            return;
        }
        const FinishedFile file = std::move(files_.front());
        files_.pop_front();
        lock.unlock();
        std::string failure = finish(file);
        lock.lock();
        if (!failure.empty()) {
            failures_.push_back(std::move(failure));
        }
    }
}

}  // namespace tributary
