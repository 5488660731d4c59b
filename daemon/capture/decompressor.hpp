// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tributary {

/// Unpacks one compressed file, piece by piece, in bounded memory. Members (gzip), frames (zstd)
/// and streams (xz) one after the other are one file, as for their own programs.
///
/// @thread  one
class Decompressor {
public:
    /// The largest dictionary or window. `xz -9` requires 64 MiB, `zstd --ultra -22` and `zstd
    /// --long` 128 MiB.
    static constexpr std::size_t kMostWindow = std::size_t{128} << 20U;
    /// Octets of a file that identify its format.
    static constexpr std::size_t kMagicOctets = 6;

    Decompressor() = default;
    Decompressor(const Decompressor&) = delete;
    Decompressor& operator=(const Decompressor&) = delete;
    virtual ~Decompressor() = default;

    /// Unpacks until the input is used up or the room is full; at the end of the input, until it
    /// is_complete() or cannot go on.
    ///
    /// @param input    used octets are removed from its front
    /// @param room     written octets are removed from its front
    /// @param is_last  no more input follows
    /// @return         false: see fault(); the octets before are in the room
    /// @cost           memory for the window, at a member's first octets
    [[nodiscard]] virtual bool unpack(std::span<const std::byte>& input, std::span<std::byte>& room,
                                      bool is_last) noexcept = 0;

    /// Whether the input so far is whole: it ends with a member, a frame or a stream.
    [[nodiscard]] virtual bool is_complete() const noexcept = 0;

    /// Why unpack() returned false, for a log line: "invalid distance too far back".
    [[nodiscard]] virtual std::string fault() const = 0;

    /// "gzip"; empty: not compressed.
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
};

/// @errors  std::bad_alloc, also for the functions below
[[nodiscard]] std::unique_ptr<Decompressor> make_gzip_decompressor();
[[nodiscard]] std::unique_ptr<Decompressor> make_xz_decompressor();
[[nodiscard]] std::unique_ptr<Decompressor> make_zstd_decompressor();

/// @param begin  a file's first kMagicOctets, or all of a shorter one
/// @return       nullptr: none of the three formats
[[nodiscard]] std::unique_ptr<Decompressor> decompressor_of(std::span<const std::byte> begin);

/// Copies its input unchanged.
[[nodiscard]] std::unique_ptr<Decompressor> make_copier();

/// Whether a file begins like a compressed one, of these three formats or another.
[[nodiscard]] bool seems_compressed(std::span<const std::byte> begin) noexcept;

}  // namespace tributary
