// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "export/ipfix_message.hpp"
#include "export/metering_process.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Template ids of flow records. Each layout has a range of its own, in which a record's template
/// has the number of its shape, so that ids are the same in every run:
///
///     256 .. 0x3FFF     the first layout
///     0x4000 .. 0xEFFF  further layouts: each place of a table has kTemplateIdsOfPlace
///     0xFF00 ..         options records (OptionsKind)
///
/// So the ids of a layout do not depend on other ones.
/// @source  RFC 7011 §3.4.1: data sets have ids from 256 on
inline constexpr std::uint16_t kFirstTemplateId = IpfixMessage::kFirstDataSet;
inline constexpr std::uint16_t kFurtherTemplateIds = 0x4000;
inline constexpr std::uint16_t kTemplateIdBlock = 256;
inline constexpr std::uint16_t kTemplateIdsOfPlace = 11 * kTemplateIdBlock;
inline constexpr std::uint16_t kEndOfTemplateIds = 0xFF00;
static_assert(kFurtherTemplateIds + kTablePlaces * kTemplateIdsOfPlace <= kEndOfTemplateIds);

/// The first template id of a table.
///
/// @param table   its index in MeteringProcess
/// @param layout  of its records
/// @param turn    how many tables have had its place in the session before. By UDP ids must not be
///                used again soon: each table gets those behind the former one's, in turn
/// @errors  ExportError: it has more shapes than there are ids
/// @source  RFC 7011 §8.4
[[nodiscard]] std::uint16_t first_template_id(std::size_t table, const RecordLayout& layout,
                                              std::size_t turn = 0);

}  // namespace tributary
