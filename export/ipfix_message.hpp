// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary {

/// Sizes and numbers in an IPFIX message.
///
/// @source  RFC 7011 §3
struct IpfixMessage {
    static constexpr std::size_t kHeader = 16;       ///< octets
    static constexpr std::size_t kSetHeader = 4;     ///< octets
    static constexpr std::size_t kLongest = 0xFFFF;  ///< octets, by its length field
    static constexpr std::uint16_t kVersion = 10;
    static constexpr std::uint16_t kTemplateSet = 2;         ///< set id
    static constexpr std::uint16_t kOptionsTemplateSet = 3;  ///< set id
    static constexpr std::uint16_t kFirstDataSet = 256;      ///< set id, and its template's id
    static constexpr std::uint16_t kEnterpriseBit = 0x8000;  ///< in an element's number
};

}  // namespace tributary
