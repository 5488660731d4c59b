// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/spool_check.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "conf/config_error.hpp"
#include "daemon/base/spdlog.hpp"
#include "export/export_error.hpp"
#include "export/file_descriptor.hpp"
#include "export/spool/spooled_records.hpp"
#include "export/spool/unusable_records.hpp"

namespace tributary {
namespace {

namespace fs = std::filesystem;

/// Whether a folder is in one of the kernel's own file systems: no file can be made there, for any
/// mode of the folder.
bool is_of_the_kernel(const fs::path& folder) {
    struct statfs system {};
    return ::statfs(folder.c_str(), &system) == 0 &&
           (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC);
}

/// Whether a spool can have this directory; it makes a missing one.
///
/// @return  0, or an errno; EACCES: this user must not read or write there
int refusal_of(const std::string& directory) {
    std::error_code error;
    fs::path at = fs::absolute(directory + "/", error).lexically_normal().parent_path();
    fs::file_status status = fs::status(at, error);
    while (status.type() == fs::file_type::not_found && at.has_relative_path()) {
        if (fs::is_symlink(fs::symlink_status(at, error))) {
            return ENOENT;  // a dangling link: no folder can be made in its place
        }
        at = at.parent_path();
        status = fs::status(at, error);
    }
    if (status.type() == fs::file_type::none) {
        return error.value();
    }
    if (status.type() != fs::file_type::directory) {
        return ENOTDIR;
    }
    if (is_of_the_kernel(at)) {
        return ENOTSUP;
    }
    return ::access(at.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

void check_directory(const std::string& path, const std::string& directory, const YamlNode& root,
                     Faults& faults) {
    if (directory.empty() || faults.is_unread(path)) {
        return;
    }
    const int refusal = refusal_of(directory);
    if (refusal == EACCES) {
        spdlog::warn("{}: {} is {}, but this user must not write there; the probe's user has to",
                     place_of(root, path), path, shown(directory));
    } else if (refusal != 0) {
        faults.note(path, place_of(root, path) + ": " + path + " is " + shown(directory) +
                              "; must be a directory in which files can be made (" +
                              words_for(refusal) + ")");
    }
}

}  // namespace

void check_spools(const Config& config, const YamlNode& root, Faults& faults) {
    check_directory("export.spool.directory", config.export_.spool.directory, root, faults);
    for (std::size_t i = 0; i < config.export_.collectors.size(); ++i) {
        check_directory("export.collectors." + std::to_string(i) + ".spool.directory",
                        config.export_.collectors[i].spool.directory, root, faults);
    }
}

void warn_of_unusable_records(const Config& config, const YamlNode& root) {
    const std::string& directory = config.export_.spool.directory;
    if (directory.empty()) {
        return;
    }
    const RecordLayout layout = layout_of_flows(config.export_.fields, config.flows);
    const std::uint64_t records = unusable_records(
        directory, {.fingerprint = fingerprint_of(layout), .record_bytes = record_size(layout)});
    if (records > 0) {
        spdlog::warn(
            "{}: export.spool.directory is {}, which holds {} records that were made for other "
            "fields; a start with this configuration loses them (spool_unusable). Let the former "
            "configuration send them first, or use another directory",
            place_of(root, "export.spool.directory"), shown(directory), records);
    }
}

}  // namespace tributary
