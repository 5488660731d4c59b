// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_descriptor.hpp"

namespace tributary {

/// Identifies the layout of records on disk: the groups and their places, the sizes and places of
/// their members, the order of octets, and the version of their meaning. Records of another
/// fingerprint are not read.
/// @thread  any; pure
[[nodiscard]] std::uint64_t fingerprint_of(const RecordLayout& layout) noexcept;

/// The same of the records of a further table: two tables may have one layout.
///
/// @param table  its name: another process may have it at another place
[[nodiscard]] std::uint64_t fingerprint_of(const RecordLayout& layout, const KeyDescriptor& key,
                                           std::string_view table) noexcept;

/// Whether a record from a disk has values that a cache can write. The rest of the export relies on
/// these.
///
/// @param record  of the layout, aligned to 8
[[nodiscard]] bool is_plausible(const std::byte* record, const RecordLayout& layout) noexcept;

/// The sum of records, if all of them are plausible.
///
/// @param records  whole ones, back to back, aligned to 8
/// @return         nothing: one of them is not
[[nodiscard]] RecordTally tally_of_all(std::span<const std::byte> records,
                                       const RecordLayout& layout) noexcept;

}  // namespace tributary
