// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/whole_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "daemon/base/standard_streams.hpp"
#include "export/transport/open_output.hpp"

namespace tributary {
namespace {

/// What a path leads to, over its links.
struct Target {
    std::optional<std::string> replaceable{};  ///< a path where a new file may take the place
    std::optional<int> descriptor{};           ///< of this process
};

/// @param link  of a descriptor, in a directory of /proc
std::optional<int> descriptor_of(const std::filesystem::path& directory,
                                 const std::filesystem::path& link) {
    const std::string text = link.filename().string();
    int number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc{} && rest == text.data() + text.size();
    const std::string own = "/proc/" + std::to_string(::getpid()) + "/fd";
    return is_number && directory == own ? std::optional(number) : std::nullopt;
}

/// @return  empty: it is no regular file, or a descriptor of another process, and is opened as it
///          is
Target target_of(const std::string& path) {
    constexpr int kMostLinks = 40;  // as of the kernel
    std::filesystem::path at(path);
    std::error_code error;
    for (int links = 0;
         std::filesystem::is_symlink(std::filesystem::symlink_status(at, error)) && !error;
         ++links) {
        const auto directory =
            std::filesystem::canonical(at.has_parent_path() ? at.parent_path() : ".", error);
        if (error || links == kMostLinks) {
            return {};
        }
        if (directory.string().starts_with("/proc/")) {
            return {.descriptor = descriptor_of(directory, at)};
        }
        at = directory / std::filesystem::read_symlink(at, error);
    }
    const std::filesystem::file_status status = std::filesystem::status(at, error);
    const bool is_something_else = std::filesystem::exists(status) && !is_regular_file(status);
    return is_something_else ? Target{} : Target{.replaceable = at.string()};
}

/// Whether a path still names an open file: another process may have removed or renamed it.
bool is_at(const FileDescriptor& file, const std::string& path) noexcept {
    struct stat opened {};
    struct stat named {};
    return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Removes a part that a process left when it was killed. Only the process that has locked a part
/// removes or renames it.
///
/// @param other  gets the process that writes it
/// @return       false: see errno. EBUSY: another process writes it
bool remove_left_over(const std::string& path, std::string& other) {
    const FileDescriptor left(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!left && errno != ELOOP) {  // ELOOP: a link, which no process writes
        return errno == ENOENT;
    }
    if (left && !lock_file(left.get())) {
        other = locking_process(left.get());
        errno = EBUSY;
        return false;
    }
    if (left && !is_at(left, path)) {
        return true;
    }
    return ::unlink(path.c_str()) == 0 || errno == ENOENT;
}

/// Makes a part that its owner alone may read, and locks it.
///
/// @param other  gets the process that writes it, when that is another one
/// @return       without a file see errno. EBUSY: another process writes it
FileDescriptor open_part(const std::string& path, std::string& other) {
    constexpr int kTries = 100;  // other processes may come and go
    constexpr mode_t kOwner = S_IRUSR | S_IWUSR;
    for (int tries = 0; tries < kTries; ++tries) {
        if (!remove_left_over(path, other)) {
            return {};
        }
        FileDescriptor part(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwner));
        if (!part && errno != EEXIST) {
            return {};
        }
        // Before it was locked, another process may have taken it for one that was left.
        if (part && lock_file(part.get()) && is_at(part, path)) {
            return part;
        }
    }
    errno = EBUSY;
    return {};
}

void wait_for_room(int file) noexcept {
    pollfd waited{.fd = file, .events = POLLOUT, .revents = 0};
    static_cast<void>(::poll(&waited, 1, -1));
}

}  // namespace

WholeFile::WholeFile(const std::string& path) : path_(or_standard_output(path)) {
    const Target target = target_of(path_);
    if (target.replaceable) {
        path_ = *target.replaceable;
        written_ = path_ + kSuffix;
        file_ = open_part(written_, other_);
    } else {
        written_ = path_;
        // Not opened anew: that would begin at the front of a file, and needs the right to open
        // what another user's shell has opened.
        file_ = target.descriptor ? FileDescriptor(::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0))
                                  : open_output(written_, 0).file;
    }
    error_ = file_ ? 0 : errno;
}

WholeFile::~WholeFile() {
    if (file_ && is_apart()) {  // it is not whole
        ::unlink(written_.c_str());
    }
}

std::string WholeFile::explain() const {
    return error_ == EBUSY && is_apart() ? "another dump writes " + written_ + other_
                                         : path_ + ": " + words_for(error_);
}

void WholeFile::write(std::string_view octets) noexcept {
    while (!octets.empty() && error_ == 0) {
        const ssize_t written = ::write(file_.get(), octets.data(), octets.size());
        if (written >= 0) {
            octets_ += static_cast<std::uint64_t>(written);
            octets.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {  // another program has set O_NONBLOCK
            wait_for_room(file_.get());
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
}

bool WholeFile::finish() noexcept {
    const bool is_finished =
        error_ == 0 && (!is_apart() || (::fsync(file_.get()) == 0 &&
                                        ::rename(written_.c_str(), path_.c_str()) == 0));
    error_ = is_finished || error_ != 0 ? error_ : errno;
    if (is_finished) {
        file_ = {};
    }
    return is_finished;
}

}  // namespace tributary
