// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "flowcache/fields/tunnel.hpp"
#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_extractor.hpp"
#include "flowcache/record/options.hpp"

namespace tributary {

/// What tells one flow of a table from all others, copied out of a record: of a biflow from its
/// initiator.
struct FlowIdentity {
    FlowKey key{};
    TunnelGroup tunnel{};  ///< where the tunnel is in the key
    /// Of a declared table: the fields of its key that FlowKey lacks, as KeyExtractor writes them.
    alignas(8) std::array<std::byte, KeyExtractor::kMostOctets> octets{};
};

/// @param record  of the layout, aligned to 8
/// @thread        any; pure
[[nodiscard]] FlowIdentity identity_of(const std::byte* record, const RecordLayout& layout,
                                       const KeyDescriptor& key) noexcept;

}  // namespace tributary
