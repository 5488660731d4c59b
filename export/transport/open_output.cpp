// SPDX-License-Identifier: Apache-2.0
#include "export/transport/open_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace tributary {
namespace {

/// The descriptor that the program was started with. Its position is known to the starter.
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
        return true;  // anything but a file takes all
    }
    return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool is_locked_elsewhere(int file) noexcept {
    struct stat status {};
    return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// @source  proc_locks(5): "1: FLOCK ADVISORY WRITE 4121 08:01:131090 0 EOF"
std::string locking_process(int file) {
    struct stat status {};
    if (::fstat(file, &status) != 0) {
        return {};
    }
    std::array<char, 64> wanted{};
    static_cast<void>(std::snprintf(wanted.data(), wanted.size(), "%02x:%02x:%ju",
                                    ::major(status.st_dev), ::minor(status.st_dev),
                                    static_cast<std::uintmax_t>(status.st_ino)));
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
        std::istringstream words(line);
        std::string number;
        std::string kind;
        std::string strictness;
        std::string access;
        long process = 0;
        std::string place;
        if (words >> number >> kind >> strictness >> access >> process >> place && process > 0 &&
            kind == "FLOCK" && place == wanted.data()) {
            return " (PID " + std::to_string(process) + ")";
        }
    }
    return {};
}

int errno_of_room(int file) noexcept {
    constexpr off_t kLongestMessage = 65'535;
    struct stat status {};
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0;
    }
    const int error =
        ::fallocate(file, FALLOC_FL_KEEP_SIZE, status.st_size, kLongestMessage) == 0 ? 0 : errno;
    static_cast<void>(::ftruncate(file, status.st_size) == 0);  // else the file keeps the room
    return error == ENOSPC || error == EDQUOT ? error : 0;
}

}  // namespace tributary
