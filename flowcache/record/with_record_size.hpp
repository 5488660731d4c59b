// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Calls `use` with the record size that holds the layout, as a constant: caches and rings are
/// instantiated per size.
template <std::size_t kSize = 0, class Use>
auto with_record_size(const RecordLayout& layout, Use use) {
    if constexpr (kSize + 1 < kRecordSizes.size()) {
        if (layout.bytes > kRecordSizes[kSize]) {
            return with_record_size<kSize + 1>(layout, use);
        }
    }
    return use(std::integral_constant<std::size_t, kRecordSizes[kSize]>{});
}

}  // namespace tributary
