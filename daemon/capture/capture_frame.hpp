// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "parsers/packet.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// One frame as its capture file tells it.
struct CaptureFrame {
    std::span<const std::byte> captured;  ///< inside the bytes that the reader walks
    std::uint32_t wire_bytes{};           ///< never below captured.size(), whatever the file says
    LinkType link_type{LinkType::ethernet};
    Timestamp time{};  ///< unchecked; one that Timestamp can't hold is its minimum or maximum
};

/// What a reader found at its place in the file.
enum class CaptureItem : std::uint8_t {
    frame,
    /// A pcapng packet of an interface that its section does not describe: it has bytes, no time.
    unknown_interface,
    other_block,  ///< a pcapng block without a packet
    end,          ///< the file ends behind its last item; so says every later call
    cut,          ///< the file ends inside an item; so says every later call
    pause,        ///< what is in memory ends here, and the file goes on; see CaptureWalk
};

/// Integers of a capture file, which is written in its writer's byte order. Fields are cut from
/// fixed-size spans, so that a place outside a header does not compile.
class CaptureByteOrder {
public:
    constexpr CaptureByteOrder() = default;
    explicit constexpr CaptureByteOrder(std::endian file) : swapped_(file != std::endian::native) {}

    [[nodiscard]] std::uint16_t u16(std::span<const std::byte, 2> bytes) const noexcept {
        std::uint16_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof value);
        return swapped_ ? __builtin_bswap16(value) : value;
    }
    [[nodiscard]] std::uint32_t u32(std::span<const std::byte, 4> bytes) const noexcept {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof value);
        return swapped_ ? __builtin_bswap32(value) : value;
    }
    [[nodiscard]] std::uint64_t u64(std::span<const std::byte, 8> bytes) const noexcept {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof value);
        return swapped_ ? __builtin_bswap64(value) : value;
    }

private:
    bool swapped_ = false;
};

}  // namespace tributary
