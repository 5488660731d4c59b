// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary {

// The elements of a biflow's other direction are those of the first once more, under a number of
// their own.

/// The enterprise under which IANA's elements stand for the reverse direction.
/// @source  RFC 5103 §6.1
inline constexpr std::uint32_t kReverseEnterprise = 29305;

/// Added to the number of an enterprise's own element it gives the number of the reverse element.
/// @source  RFC 5103 §6.2
inline constexpr std::uint16_t kReverseBit = 0x4000;

/// "reversePacketDeltaCount" of "packetDeltaCount".
///
/// @param name  ASCII, at most 63 octets
/// @source  RFC 5103 §6.1
class ReverseName {
public:
    constexpr ReverseName() = default;
    constexpr explicit ReverseName(std::string_view name) {
        constexpr std::string_view kPrefix = "reverse";
        std::size_t at = 0;
        for (const char letter : kPrefix) {
            text_.at(at++) = letter;
        }
        for (const char letter : name) {
            const bool is_first = at == kPrefix.size();
            text_.at(at++) =
                is_first && letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter;
        }
    }
    [[nodiscard]] constexpr const char* c_str() const noexcept { return text_.data(); }

private:
    std::array<char, 72> text_{};
};

}  // namespace tributary
