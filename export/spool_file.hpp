// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tributary {

/// The greatest number of a spool's file; no process comes near it.
inline constexpr std::uint64_t kMostSpoolFile = std::uint64_t{1} << 62U;

/// The name of a spool's file: its number, so that names sort as numbers do.
[[nodiscard]] std::string spool_file_name(std::uint64_t number);
/// Whether a name has digits and the suffix of a spool's file, in any spelling.
[[nodiscard]] bool is_spool_file_name(const std::string& name) noexcept;
/// The number in such a name, as far as 64 bits hold it; nothing for other names.
[[nodiscard]] std::optional<std::uint64_t> spool_file_number(const std::string& name);

}  // namespace tributary
