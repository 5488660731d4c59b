// SPDX-License-Identifier: Apache-2.0
#include "daemon/file_uses.hpp"

#include <sysexits.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "daemon/startup_error.hpp"

namespace tributary {
namespace {

namespace fs = std::filesystem;

/// Where a path leads, also by links to files that are not there yet.
fs::path target_of(fs::path path) {
    constexpr int kMostLinks = 40;  // the kernel's own limit
    std::error_code error;          // what cannot be read leads nowhere else
    for (int links = 0; links < kMostLinks && fs::is_symlink(path, error); ++links) {
        const fs::path next = fs::read_symlink(path, error);
        path = path.parent_path() / next;
    }
    return fs::weakly_canonical(path, error);
}

bool are_one_file(const std::string& a, const std::string& b) {
    std::error_code ignored;
    return (a == b || fs::equivalent(a, b, ignored) || target_of(a) == target_of(b)) &&
           !fs::is_character_file(a, ignored);
}

bool are_in_conflict(const FileUse& one, const FileUse& other) {
    return one.what != other.what && !one.path.empty() && !other.path.empty() &&
           (one.is_written || other.is_written) && are_one_file(one.path, other.path);
}

/// @errors  StartupError(64)
[[noreturn]] void refuse(const FileUse& one, const FileUse& other) {
    const bool is_loss = !one.is_written || !other.is_written;
    throw StartupError(EX_USAGE, one.what + " and " + other.what + " are one file, " + one.path +
                                     (is_loss ? ", which would be overwritten" : ""));
}

}  // namespace

void refuse_shared_files(std::span<const FileUse> uses) {
    for (; !uses.empty(); uses = uses.subspan(1)) {
        const FileUse& one = uses.front();
        const auto other = std::ranges::find_if(
            uses.subspan(1), [&one](const FileUse& each) { return are_in_conflict(one, each); });
        if (other != uses.end()) {
            refuse(one, *other);
        }
    }
}

void refuse_shared_files(std::vector<FileUse> uses,
                         const std::vector<CollectorOptions>& collectors) {
    for (const CollectorOptions& collector : collectors) {
        if (collector.transport == TransportKind::file) {
            uses.push_back(
                {.what = "a collector's path", .path = collector.path, .is_written = true});
        }
    }
    refuse_shared_files(uses);
}

}  // namespace tributary
