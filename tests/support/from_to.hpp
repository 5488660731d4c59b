// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace tributary::test {

/// The numbers from `first` to before `end`.
inline std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t end) {
    std::vector<std::uint64_t> numbers(end - first);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

}  // namespace tributary::test
