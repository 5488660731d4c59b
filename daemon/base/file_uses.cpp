// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/file_uses.hpp"

#include <sysexits.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "daemon/base/startup_error.hpp"
#include "export/path_target.hpp"

namespace tributary {
namespace {

namespace fs = std::filesystem;

bool are_one_file(const std::string& a, const std::string& b) {
    std::error_code ignored;
    return have_one_target(a, b) && !fs::is_character_file(a, ignored);
}

/// Whether a file is in a spool's directory, or is the directory.
bool is_in(const std::string& file, const std::string& directory) {
    std::error_code ignored;
    const fs::path target = fs::absolute(target_of(file), ignored);
    const fs::path spool = fs::absolute(target_of(directory), ignored);
    const auto [end, rest] =
        std::mismatch(spool.begin(), spool.end(), target.begin(), target.end());
    return end == spool.end() || end->empty();
}

/// Whether a file belongs to a spool's directory.
bool is_of_spool(const FileUse& one, const FileUse& other) {
    return one.is_spool != other.is_spool && !one.path.empty() && !other.path.empty() &&
           (one.is_spool ? is_in(other.path, one.path) : is_in(one.path, other.path));
}

bool are_in_conflict(const FileUse& one, const FileUse& other) {
    if (one.is_spool || other.is_spool) {
        return is_of_spool(one, other);
    }
    return one.what != other.what && !one.path.empty() && !other.path.empty() &&
           (one.is_written || other.is_written) && are_one_file(one.path, other.path);
}

/// @errors  StartupError(64)
[[noreturn]] void refuse(const FileUse& one, const FileUse& other) {
    if (one.is_spool || other.is_spool) {
        const FileUse& spool = one.is_spool ? one : other;
        const FileUse& file = one.is_spool ? other : one;
        throw StartupError(EX_USAGE, file.what + ", " + file.path + ", is in the directory of " +
                                         spool.what + ", which must have no other file");
    }
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

void refuse_shared_files(std::vector<FileUse> uses, const ExportOptions& exported) {
    const auto add_spool = [&uses](const std::string& what, const SpoolOptions& spool) {
        uses.push_back(
            {.what = what, .path = spool.directory, .is_written = true, .is_spool = true});
    };
    add_spool("export.spool", exported.spool);
    for (const CollectorOptions& collector : exported.collectors) {
        add_spool("a collector's spool", collector.spool);
        if (collector.transport == TransportKind::file) {
            uses.push_back(
                {.what = "a collector's path", .path = collector.path, .is_written = true});
        }
    }
    refuse_shared_files(uses);
}

}  // namespace tributary
