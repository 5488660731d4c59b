// SPDX-License-Identifier: Apache-2.0
#include "export/spool_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>

namespace tributary {
namespace {

constexpr std::string_view kSuffix = ".spool";

}  // namespace

std::string spool_file_name(std::uint64_t number) {
    constexpr std::size_t kDigits = 20;
    const std::string digits = std::to_string(number);
    return std::string(kDigits - digits.size(), '0') + digits + std::string(kSuffix);
}

bool is_spool_file_name(const std::string& name) noexcept {
    return name.size() > kSuffix.size() && name.ends_with(kSuffix) &&
           std::all_of(name.begin(), name.end() - static_cast<std::ptrdiff_t>(kSuffix.size()),
                       [](char each) { return each >= '0' && each <= '9'; });
}

std::optional<std::uint64_t> spool_file_number(const std::string& name) {
    std::uint64_t number = 0;
    const auto [stopped, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return is_spool_file_name(name) && error == std::errc{} ? std::optional(number) : std::nullopt;
}

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
