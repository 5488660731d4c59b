// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "export/options.hpp"

namespace tributary {

/// A file that a run reads or writes.
struct FileUse {
    std::string what;   ///< the user's name for it: "--write", "log.file"
    std::string path;   ///< empty: none
    bool is_written{};  ///< false: only read
    bool is_spool{};    ///< a directory with files that are written
};

/// Refuses to overwrite a file that is read, or to write two outputs into one file, also through
/// links, and before the files exist. Devices such as /dev/null are allowed. Uses of one name are
/// not compared: collectors with one file are a fault of the configuration.
///
/// @errors  StartupError(64)
void refuse_shared_files(std::span<const FileUse> uses);
/// The same, with the collectors' files and the spools' directories: these must contain no other
/// file.
void refuse_shared_files(std::vector<FileUse> uses, const ExportOptions& exported);

}  // namespace tributary
