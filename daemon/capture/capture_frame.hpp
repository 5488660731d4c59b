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

/// One frame, with the values in its capture file.
struct CaptureFrame {
    std::span<const std::byte> captured;  ///< inside the reader's bytes
    std::uint32_t wire_bytes{};  ///< never below captured.size(), even if the file has less
    LinkType link_type{LinkType::ethernet};
    Timestamp time{};  ///< unchecked; outside Timestamp's range its minimum or maximum
};

/// The item at a reader's place in the file.
enum class CaptureItem : std::uint8_t {
    frame,
    /// A pcapng packet of an interface that its section does not describe: bytes without a time.
    unknown_interface,
    other_block,  ///< a pcapng block without a packet
    end,          ///< the file ends after its last item; also for every later call
    cut,          ///< the file ends inside an item; also for every later call
    pause,        ///< the bytes in memory end, the file goes on; see CaptureWalk
};

/// Integers of a capture file, in its writer's byte order. Fields are cut from fixed-size spans, so
/// that a place outside a header does not compile.
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
