// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "export/spool_content.hpp"

namespace tributary {

/// Records that a Spool of this directory would find and lose, because they were made for other
/// content. Changes nothing there. Another process may be using the directory.
[[nodiscard]] std::uint64_t unusable_records(const std::string& directory,
                                             const SpoolContent& content);

}  // namespace tributary
