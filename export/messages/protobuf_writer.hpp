// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary {

/// How a value lies in a protobuf message.
/// @source  protobuf.dev/programming-guides/encoding: message structure
enum class ProtobufWireType : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

/// Octets of a varint: seven bits in each.
[[nodiscard]] constexpr std::size_t varint_octets(std::uint64_t value) noexcept {
    constexpr unsigned kBits = 7;
    return (static_cast<std::size_t>(std::bit_width(value | 1U)) + kBits - 1) / kBits;
}
inline constexpr std::size_t kLongestVarint = varint_octets(~std::uint64_t{0});

/// What stands before a value: field number and wire type, as they are on the wire.
class ProtobufTag {
public:
    /// The highest field number with a tag of two octets. There are no fields beyond.
    static constexpr std::uint32_t kLastField = 2047;

    constexpr ProtobufTag() noexcept = default;
    /// @param field  1 .. kLastField; another one does not compile
    consteval ProtobufTag(std::uint32_t field, ProtobufWireType type) {
        constexpr unsigned kTypeBits = 3;
        constexpr std::uint32_t kLow = 0x7F;
        constexpr std::uint32_t kMore = 0x80;
        constexpr unsigned kVarintBits = 7;
        if (field == 0 || field > kLastField) {
            throw "no field number with a tag of at most two octets";
        }
        const std::uint32_t value = field << kTypeBits | static_cast<std::uint32_t>(type);
        length_ = value > kLow ? 2 : 1;
        octets_[0] = static_cast<std::byte>(length_ == 2 ? (value & kLow) | kMore : value);
        octets_[1] = static_cast<std::byte>(length_ == 2 ? value >> kVarintBits : 0);
    }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return length_; }
    [[nodiscard]] constexpr const std::byte* data() const noexcept { return octets_.data(); }
    /// Both octets; the second one may not count.
    static constexpr std::size_t kRoom = 2;

private:
    std::array<std::byte, kRoom> octets_{};
    std::uint8_t length_{};
};

/// Writes fields of a protobuf message one behind the other, in the order of the calls.
///
/// @cost  no memory; no check of the room: the caller gives what the longest message needs
class ProtobufWriter {
public:
    /// Octets behind the last field that may be written, without a meaning.
    static constexpr std::size_t kSlack = ProtobufTag::kRoom;

    /// @param out  room for all fields that will be written, and kSlack
    explicit ProtobufWriter(std::byte* out) noexcept : begin_(out), at_(out) {}

    /// Octets so far.
    [[nodiscard]] std::size_t size() const noexcept {
        return static_cast<std::size_t>(at_ - begin_);
    }

    void put_varint(ProtobufTag tag, std::uint64_t value) noexcept {
        put_tag(tag);
        put_raw_varint(value);
    }
    /// A field without presence: proto3 leaves a value of 0 out.
    void put_varint_unless_zero(ProtobufTag tag, std::uint64_t value) noexcept {
        if (value != 0) {
            put_varint(tag, value);
        }
    }
    void put_fixed64(ProtobufTag tag, std::uint64_t value) noexcept {
        static_assert(std::endian::native == std::endian::little);
        put_tag(tag);
        std::memcpy(at_, &value, sizeof value);
        at_ += sizeof value;
    }
    /// `bytes`, `string`, or what is packed.
    void put_octets(ProtobufTag tag, std::span<const std::byte> octets) noexcept {
        begin_octets(tag, octets.size());
        put_raw(octets);
    }

    /// The tag and length of a field whose octets follow by the next two functions.
    void begin_octets(ProtobufTag tag, std::size_t octets) noexcept {
        put_tag(tag);
        put_raw_varint(octets);
    }
    void put_raw(std::span<const std::byte> octets) noexcept {
        if (!octets.empty()) {
            std::memcpy(at_, octets.data(), octets.size());
            at_ += octets.size();
        }
    }
    void put_raw_varint(std::uint64_t value) noexcept {
        constexpr std::uint64_t kMore = 0x80;
        constexpr unsigned kBits = 7;
        while (value >= kMore) {
            *at_++ = static_cast<std::byte>(value | kMore);
            value >>= kBits;
        }
        *at_++ = static_cast<std::byte>(value);
    }

private:
    void put_tag(ProtobufTag tag) noexcept {
        std::memcpy(at_, tag.data(), ProtobufTag::kRoom);
        at_ += tag.size();
    }

    std::byte* begin_;
    std::byte* at_;
};

}  // namespace tributary
