// SPDX-License-Identifier: Apache-2.0
#include "export/transport/file_octets.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace tributary {

bool read_all_at(int file, std::span<std::byte> octets, std::uint64_t at) noexcept {
    return ::pread(file, octets.data(), octets.size(), static_cast<off_t>(at)) ==
           static_cast<ssize_t>(octets.size());
}

bool write_at(int file, std::span<const std::byte> octets, std::uint64_t at) noexcept {
    while (!octets.empty()) {
        const ssize_t written =
            ::pwrite(file, octets.data(), octets.size(), static_cast<off_t>(at));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        octets = octets.subspan(static_cast<std::size_t>(written));
        at += static_cast<std::uint64_t>(written);
    }
    return true;
}

bool is_file_at(const std::string& path, int file) noexcept {
    struct stat there {};
    struct stat here {};
    return ::stat(path.c_str(), &there) == 0 && ::fstat(file, &here) == 0 &&
           there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

}  // namespace tributary
