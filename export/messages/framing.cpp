// SPDX-License-Identifier: Apache-2.0
#include "export/messages/framing.hpp"

#include <algorithm>

namespace tributary {

bool are_lines(MessageView octets) noexcept {
    constexpr std::byte kEnd{'\n'};
    if (octets.empty() || octets.back() != kEnd) {
        return false;
    }
    std::byte before = kEnd;
    for (const std::byte octet : octets) {
        if (octet == std::byte{0} || (octet == kEnd && before == kEnd)) {
            return false;
        }
        before = octet;
    }
    return true;
}

std::size_t LineFraming::records_in(MessageView message) const noexcept {
    return static_cast<std::size_t>(std::ranges::count(message, std::byte{'\n'}));
}

}  // namespace tributary
