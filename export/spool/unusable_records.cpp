// SPDX-License-Identifier: Apache-2.0
#include "export/spool/unusable_records.hpp"

#include <fcntl.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "export/file_descriptor.hpp"
#include "export/spool/spool_file.hpp"
#include "export/spool/spool_fingerprints.hpp"
#include "export/spool/spool_segment.hpp"

namespace tributary {

namespace {

/// Of one file.
std::uint64_t unusable_records_in(const std::filesystem::path& path,
                                  const SpoolFingerprints& content) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) {
        return 0;
    }
    const SpoolSegment segment(std::move(file), path, content);
    return segment.unusable().records;
}

}  // namespace

std::uint64_t unusable_records(const std::string& directory, const SpoolContent& content) {
    std::error_code none;
    if (!std::filesystem::is_directory(directory, none)) {
        return 0;
    }
    const SpoolFingerprints fingerprints(content);
    std::uint64_t records = 0;
    try {
        for (const std::string& name : spool_files_in(directory)) {
            records += unusable_records_in(std::filesystem::path(directory) / name, fingerprints);
        }
    } catch (const std::filesystem::filesystem_error&) {
        return records;  // this user may not read there
    }
    return records;
}

}  // namespace tributary
