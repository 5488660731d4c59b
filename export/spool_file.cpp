// SPDX-License-Identifier: Apache-2.0
#include "export/spool_file.hpp"

#include <sys/stat.h>

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

std::optional<std::uint64_t> spool_file_number(const std::string& name) {
    std::uint64_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [stopped, error] = std::from_chars(name.data(), end, number);
    return error == std::errc{} && stopped != name.data() &&
                   std::string_view(stopped, static_cast<std::size_t>(end - stopped)) == kSuffix
               ? std::optional(number)
               : std::nullopt;
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

bool is_removed(int file) noexcept {
    struct stat status {};
    return ::fstat(file, &status) == 0 && status.st_nlink == 0;
}

}  // namespace tributary
