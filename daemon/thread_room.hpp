// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tributary {

/// Whether so many more threads can be had, found out by starting and ending them. For libraries
/// that do not cope when some of theirs are missing.
///
/// @cost  milliseconds
[[nodiscard]] bool has_room_for_threads(std::size_t count) noexcept;

}  // namespace tributary
