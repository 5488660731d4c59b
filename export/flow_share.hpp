// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "flowcache/record/flow_hasher.hpp"

namespace tributary {

/// Which of several places gets a flow: the same one for both directions, from every queue and in
/// every run.
/// @thread  any; it does not change
class FlowShare {
public:
    /// The flow's number, evenly over all 32 bits.
    ///
    /// @param record  of any layout, aligned to 8
    [[nodiscard]] std::uint32_t of(const std::byte* record) const noexcept;

private:
    FlowHasher hasher_{0};  // a seed of its own would give a flow another place after each start
};

}  // namespace tributary
