// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary {

/// `Size` captured bytes, read into host byte order. An offset beyond them does not compile.
template <std::size_t Size>
class HeaderBytes {
public:
    /// No header. Test `!header` before any read.
    constexpr HeaderBytes() noexcept = default;
    /// @param data  at least `Size` readable bytes, of any alignment
    constexpr explicit HeaderBytes(const std::byte* data) noexcept : data_(data) {}

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return data_ != nullptr; }

    template <std::size_t At>
    [[nodiscard]] constexpr std::uint8_t u8() const noexcept {
        return std::to_integer<std::uint8_t>(*bytes<At, 1>());
    }
    template <std::size_t At>
    [[nodiscard]] constexpr std::uint16_t u16() const noexcept {
        return static_cast<std::uint16_t>(u8<At>() << 8U | u8<At + 1>());
    }
    template <std::size_t At>
    [[nodiscard]] constexpr std::uint32_t u32() const noexcept {
        return static_cast<std::uint32_t>(u16<At>()) << 16U | u16<At + 2>();
    }
    /// The `Count` bytes from `At` on, as they are on the wire.
    template <std::size_t At, std::size_t Count>
    [[nodiscard]] constexpr const std::byte* bytes() const noexcept {
        static_assert(At + Count <= Size);
        return data_ + At;
    }

private:
    const std::byte* data_{};
};

/// The bytes of a frame that may be read: the one place where the parsers compare an offset with
/// their end. Offsets count from the frame's first byte. They and the sizes asked for are sums of
/// few header lengths, so adding them cannot overflow.
class CapturedBytes {
public:
    /// @param cut  the frame goes on behind these bytes, and a header that does so too is read as
    ///             far as it is there; otherwise such a header is an error
    constexpr explicit CapturedBytes(std::span<const std::byte> bytes, bool cut = false) noexcept
        : data_(bytes.data()),
          size_(static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), UINT32_MAX))),
          cut_(cut) {}

    /// The header of `Size` bytes that begins at `at`; none if it does not end inside these bytes.
    template <std::size_t Size>
    [[nodiscard]] constexpr HeaderBytes<Size> header(std::size_t at) const noexcept {
        if (!hold(at, Size)) {
            return {};
        }
        const std::byte* const header = data_ + at;
        if (header == nullptr) {
            __builtin_unreachable();  // so that a test of `!header` costs nothing more
        }
        return HeaderBytes<Size>(header);
    }
    [[nodiscard]] constexpr bool hold(std::size_t at, std::size_t size) const noexcept {
        return at + size <= size_;
    }
    /// The same bytes without those from `end` on; all of them if `end` lies behind them.
    [[nodiscard]] constexpr CapturedBytes before(std::size_t end) const noexcept {
        return CapturedBytes({data_, std::min<std::size_t>(end, size_)}, cut_ && end > size_);
    }
    /// Whether a header that ends behind these bytes is one that was cut.
    [[nodiscard]] constexpr bool cut() const noexcept { return cut_; }

private:
    // Two registers' worth: a third member would send it through memory at every call.
    const std::byte* data_;
    std::uint32_t size_;
    bool cut_;
};

}  // namespace tributary
