// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tributary {

/// The target of a path, also through links, and to what does not exist yet.
/// @thread  any; looks at the file system
[[nodiscard]] std::filesystem::path target_of(std::filesystem::path path);

/// Whether two paths, of files or of directories, lead to one place.
/// @param a  not empty
/// @param b  likewise
[[nodiscard]] bool have_one_target(const std::string& a, const std::string& b);

}  // namespace tributary
