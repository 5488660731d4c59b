// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// How full a record ring is.
struct RingFill {
    std::uint64_t records{};
    std::uint64_t room{};  ///< records that it holds at most
};

}  // namespace tributary
