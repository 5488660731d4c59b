// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace tributary::test {

/// Octets written one by one, independent of the code under test.
template <std::size_t Size>
std::array<std::byte, Size> octets(const std::array<int, Size>& values) {
    std::array<std::byte, Size> bytes{};
    std::ranges::transform(values, bytes.begin(), [](int v) { return static_cast<std::byte>(v); });
    return bytes;
}

}  // namespace tributary::test
