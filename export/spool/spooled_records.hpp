// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Tells the layout of records on disk from all others: which groups they have and where, the size
/// and place of what they have, the order of octets, and the version of what it means. Records of
/// another fingerprint are not read.
/// @thread  any; pure
[[nodiscard]] std::uint64_t fingerprint_of(const RecordLayout& layout) noexcept;

/// Whether a record from a disk has values that a cache can give: the rest of the export takes
/// others for granted.
///
/// @param record  of the layout, aligned to 8
[[nodiscard]] bool is_plausible(const std::byte* record, const RecordLayout& layout) noexcept;

/// The sum of records, if all of them are plausible.
///
/// @param records  whole ones, back to back, aligned to 8
/// @return         nothing in it: one is not
[[nodiscard]] RecordTally tally_of_all(std::span<const std::byte> records,
                                       const RecordLayout& layout) noexcept;

}  // namespace tributary
