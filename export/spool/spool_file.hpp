// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

/// The greatest number of a spool's file; no process comes near it.
inline constexpr std::uint64_t kMostSpoolFile = std::uint64_t{1} << 62U;

/// The name of a spool's file: its number, so that names sort as numbers do.
[[nodiscard]] std::string spool_file_name(std::uint64_t number);
/// Whether a name has digits and the suffix of a spool's file, in any spelling.
[[nodiscard]] bool is_spool_file_name(const std::string& name) noexcept;
/// The number in such a name, as far as 64 bits hold it; nothing for other names.
[[nodiscard]] std::optional<std::uint64_t> spool_file_number(const std::string& name);
/// The names of files in a directory that are a spool's, the oldest first. Names that tributary
/// does not give (other spellings, 0, numbers that leave no room for further ones) come last.
/// @errors  std::filesystem::filesystem_error
[[nodiscard]] std::vector<std::string> spool_files_in(const std::string& directory);

}  // namespace tributary
