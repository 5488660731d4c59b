// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tributary {

/// docs/fields.md with the tables of all field groups as their rows are: in each section
/// "## Group `NAME`" the first tables are written anew, and a group without a section gets one in
/// front of "## Templates". All else stays.
///
/// @param page  Markdown
[[nodiscard]] std::string field_reference(std::string_view page);

}  // namespace tributary
