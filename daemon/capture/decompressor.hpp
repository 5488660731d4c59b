// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tributary {

/// Unpacks one compressed file, piece by piece, in bounded memory. Members (gzip), frames (zstd)
/// and streams (xz) one after the other are one file, as their own programs have it.
///
/// @thread  one
class Decompressor {
public:
    /// The largest dictionary or window that is allowed for. `xz -9` wants 64 MiB,
    /// `zstd --ultra -22` and `zstd --long` 128 MiB.
    static constexpr std::size_t kMostWindow = std::size_t{128} << 20U;
    /// Octets of a file by which its kind is known.
    static constexpr std::size_t kMagicOctets = 6;

    Decompressor() = default;
    Decompressor(const Decompressor&) = delete;
    Decompressor& operator=(const Decompressor&) = delete;
    virtual ~Decompressor() = default;

    /// Unpacks until the input is used up or the room is full; at the end of the input, until it
    /// is_complete() or can't go on.
    ///
    /// @param input    what is used of it is cut off at its front
    /// @param room     the same for what is written to it
    /// @param is_last  no more input comes behind this
    /// @return         false: fault() tells why; the room has what came before
    /// @cost           memory for the window at a member's first octets
    [[nodiscard]] virtual bool unpack(std::span<const std::byte>& input, std::span<std::byte>& room,
                                      bool is_last) noexcept = 0;

    /// Whether the input so far is whole: it ends where a member, a frame or a stream does.
    [[nodiscard]] virtual bool is_complete() const noexcept = 0;

    /// Why unpack() returned false, for a log line: "invalid distance too far back".
    [[nodiscard]] virtual std::string fault() const = 0;

    /// "gzip"; empty: the file is as it is.
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
};

/// @errors  std::bad_alloc, these and the ones below
[[nodiscard]] std::unique_ptr<Decompressor> make_gzip_decompressor();
[[nodiscard]] std::unique_ptr<Decompressor> make_xz_decompressor();
[[nodiscard]] std::unique_ptr<Decompressor> make_zstd_decompressor();

/// @param begin  a file's first kMagicOctets, or all of a shorter one
/// @return       nullptr: it is not compressed by any of the three
[[nodiscard]] std::unique_ptr<Decompressor> decompressor_of(std::span<const std::byte> begin);

/// Hands on what comes, as it is.
[[nodiscard]] std::unique_ptr<Decompressor> make_copier();

/// Whether a file that begins so was made by a program that compresses, one of the three or not.
[[nodiscard]] bool seems_compressed(std::span<const std::byte> begin) noexcept;

}  // namespace tributary
