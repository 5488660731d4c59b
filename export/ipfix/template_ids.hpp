// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Template ids of flow records. Each layout has a range of its own, in which a record's template
/// has the number of its shape, so that ids are the same in every run:
///
///     256 .. 0x3FFF     the first layout
///     0x4000 .. 0xFEFF  further layouts, in their order; each begins at a multiple of 256, right
///                       behind the one before
///     0xFF00 ..         options records (OptionsKind)
///
/// So the ids of a further layout change only with those before it, and never with the first one.
/// @source  RFC 7011 §3.4.1: data sets have ids from 256 on
inline constexpr std::uint16_t kFirstTemplateId = 256;
inline constexpr std::uint16_t kFurtherTemplateIds = 0x4000;
inline constexpr std::uint16_t kTemplateIdBlock = 256;
inline constexpr std::uint16_t kEndOfTemplateIds = 0xFF00;

/// The first id of each layout.
///
/// @errors  ExportError: there are not enough ids
[[nodiscard]] std::vector<std::uint16_t> first_template_ids(std::span<const RecordLayout> layouts);

}  // namespace tributary
