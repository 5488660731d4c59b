// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "parsers/units.hpp"

namespace tributary {

/// The host's clock now, in the form of records' times.
/// @thread  any
[[nodiscard]] inline Timestamp host_clock() noexcept {
    return Timestamp{std::chrono::duration_cast<Timestamp::duration>(
        std::chrono::system_clock::now().time_since_epoch())};
}

}  // namespace tributary
