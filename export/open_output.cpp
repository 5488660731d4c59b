// SPDX-License-Identifier: Apache-2.0
#include "export/open_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tributary {
namespace {

/// The descriptor that the program was given, of which its starter knows where it stands.
OpenedOutput standard_output() noexcept {
    OpenedOutput output{.file = FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0))};
    if (output.file) {
        const bool appends = (::fcntl(output.file.get(), F_GETFL) & O_APPEND) != 0;
        output.at =
            std::max<off_t>(::lseek(output.file.get(), 0, appends ? SEEK_END : SEEK_CUR), 0);
    }
    return output;
}

}  // namespace

OpenedOutput open_output(const std::string& path, int how) noexcept {
    struct stat status {};
    if (path == "/dev/stdout" && ::fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode)) {
        return standard_output();
    }
    return {.file =
                FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644))};
}

bool may_be_had_later(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

FileDescriptor open_patiently(const char* path, int how) noexcept {
    constexpr int kTries = 50;
    constexpr int kMilliseconds = 100;
    FileDescriptor file(::open(path, how | O_CLOEXEC));
    for (int tries = 1; tries < kTries && !file && may_be_had_later(errno); ++tries) {
        ::poll(nullptr, 0, kMilliseconds);
        file = FileDescriptor(::open(path, how | O_CLOEXEC));
    }
    return file;
}

bool lock_file(int file) noexcept {
    struct stat status {};
    if (::fstat(file, &status) == 0 && !S_ISREG(status.st_mode)) {
        return true;  // what is no file takes all
    }
    return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

}  // namespace tributary
