// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/key.hpp"
#include "flowcache/table/own_field.hpp"
#include "flowcache/table/table_declaration.hpp"

namespace tributary {

/// Its timeouts are 0 until complete_tables() gives it those of `flows`.
template <>
TableDeclaration blank();
/// Its octets are 0 until complete_tables() gives it those of its type.
template <>
OwnField blank();

/// The keys of an item of `tables`.
[[nodiscard]] std::vector<Key<TableDeclaration>> table_keys();

/// The keys of an item of `fields`.
[[nodiscard]] std::vector<Key<OwnField>> own_field_keys();

}  // namespace tributary
