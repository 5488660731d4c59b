// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "export/options.hpp"

namespace tributary {

/// A file that a run reads or writes.
struct FileUse {
    std::string what;   ///< what the user calls it: "--write", "log.file"
    std::string path;   ///< empty: there is none
    bool is_written{};  ///< else it is read alone
    bool is_spool{};    ///< a directory, whose files are written
};

/// Refuses to write over what is read, or two things into one file, also by way of links, and
/// before the files are there. Devices such as /dev/null take all. Uses of one name are not
/// compared: collectors with one file are the configuration's fault.
///
/// @errors  StartupError(64)
void refuse_shared_files(std::span<const FileUse> uses);
/// The same, with the files that collectors are, and the directories that spools are: no other file
/// may be in one.
void refuse_shared_files(std::vector<FileUse> uses, const ExportOptions& exported);

}  // namespace tributary
