// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace tributary::test {

using Octets = std::vector<std::byte>;

inline Octets octets(std::initializer_list<int> values) {
    Octets made;
    for (const int value : values) {
        made.push_back(static_cast<std::byte>(value));
    }
    return made;
}

inline std::string text_of(std::span<const std::byte> octets) {
    return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

}  // namespace tributary::test
