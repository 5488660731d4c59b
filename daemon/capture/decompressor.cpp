// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/decompressor.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tributary {
namespace {

using namespace std::string_view_literals;

class Copier final : public Decompressor {
public:
    [[nodiscard]] bool unpack(std::span<const std::byte>& input, std::span<std::byte>& room,
                              bool /*is_last*/) noexcept override {
        const std::size_t octets = std::min(input.size(), room.size());
        if (octets > 0) {
            std::memcpy(room.data(), input.data(), octets);
        }
        input = input.subspan(octets);
        room = room.subspan(octets);
        return true;
    }
    [[nodiscard]] bool is_complete() const noexcept override { return true; }
    [[nodiscard]] std::string fault() const override { return {}; }
    [[nodiscard]] std::string_view name() const noexcept override { return {}; }
};

bool begins_with(std::span<const std::byte> bytes, std::string_view magic) noexcept {
    return bytes.size() >= magic.size() &&
           std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

constexpr std::string_view kGzip = "\x1F\x8B"sv;  // RFC 1952 §2.3.1
constexpr std::string_view kXz =
    "\xFD"
    "7zXZ\0"sv;                                           // The .xz File Format §2.1.1.1
constexpr std::string_view kZstd = "\x28\xB5\x2F\xFD"sv;  // RFC 8878 §3.1.1

/// Also skippable frames, with which pzstd begins: 16 magic numbers (RFC 8878 §3.1.2).
bool is_zstd(std::span<const std::byte> begin) noexcept {
    constexpr std::byte kKind{0xF0};
    return begins_with(begin, kZstd) ||
           (begin.size() >= 4 && (begin[0] & kKind) == std::byte{0x50} &&
            begins_with(begin.subspan(1), "\x2A\x4D\x18"sv));
}

}  // namespace

std::unique_ptr<Decompressor> decompressor_of(std::span<const std::byte> begin) {
    if (begins_with(begin, kGzip)) {
        return make_gzip_decompressor();
    }
    if (begins_with(begin, kXz)) {
        return make_xz_decompressor();
    }
    return is_zstd(begin) ? make_zstd_decompressor() : nullptr;
}

std::unique_ptr<Decompressor> make_copier() { return std::make_unique<Copier>(); }

bool seems_compressed(std::span<const std::byte> begin) noexcept {
    // bzip2, lz4, lzip, compress, zip
    constexpr std::array kOthers{"BZh"sv, "\x04\x22\x4D\x18"sv, "LZIP"sv, "\x1F\x9D"sv,
                                 "PK\x03\x04"sv};
    return begins_with(begin, kGzip) || begins_with(begin, kXz) || is_zstd(begin) ||
           std::ranges::any_of(
               kOthers, [begin](std::string_view magic) { return begins_with(begin, magic); });
}

}  // namespace tributary
