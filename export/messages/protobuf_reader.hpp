// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "export/message.hpp"
#include "export/messages/protobuf_writer.hpp"

namespace tributary {

/// A field of a protobuf message. Its number and type are one number, as on the wire.
struct ProtobufField {
    std::uint64_t tag{};
    std::uint64_t number{};  ///< varint or fixed64: the value; length: octets of it

    /// Whether it has this field number, and such a value.
    [[nodiscard]] constexpr bool is(std::uint32_t field, ProtobufWireType type) const noexcept {
        constexpr unsigned kTypeBits = 3;
        return tag == (std::uint64_t{field} << kTypeBits | static_cast<std::uint64_t>(type));
    }
};

/// Reads the fields of a protobuf message in their order.
class ProtobufReader {
public:
    explicit ProtobufReader(MessageView message) noexcept : rest_(message) {}

    /// For loops. @return  false: there is no other, and `field` is as before
    [[nodiscard]] bool next(ProtobufField& field) noexcept {
        const std::optional<ProtobufField> found = next();
        field = found.value_or(field);
        return found.has_value();
    }
    /// @return  nothing: there is no other, or the rest is no whole field
    [[nodiscard]] std::optional<ProtobufField> next() noexcept {
        constexpr std::uint64_t kTypes = 7;
        const auto tag = varint();
        if (!tag) {
            return std::nullopt;
        }
        switch (static_cast<ProtobufWireType>(*tag & kTypes)) {
            case ProtobufWireType::varint:
                return field(*tag, varint(), 0);
            case ProtobufWireType::length: {
                const auto octets = varint();
                return field(*tag, octets, octets.value_or(0));
            }
            case ProtobufWireType::fixed64:
                return field(*tag, fixed64(), sizeof(std::uint64_t));
            case ProtobufWireType::fixed32:
                return field(*tag, 0, sizeof(std::uint32_t));
        }
        return std::nullopt;
    }

private:
    /// @param skipped  octets of the value that are still in front
    std::optional<ProtobufField> field(std::uint64_t tag, std::optional<std::uint64_t> number,
                                       std::uint64_t skipped) noexcept {
        if (!number || skipped > rest_.size()) {
            return std::nullopt;
        }
        rest_ = rest_.subspan(static_cast<std::size_t>(skipped));
        return ProtobufField{.tag = tag, .number = *number};
    }
    std::optional<std::uint64_t> varint() noexcept {
        constexpr unsigned kBits = 7;
        constexpr std::uint64_t kLow = 0x7F;
        std::uint64_t value = 0;
        for (std::size_t at = 0; at < rest_.size() && at < kLongestVarint; ++at) {
            const auto octet = std::to_integer<std::uint64_t>(rest_[at]);
            value |= (octet & kLow) << (kBits * at);
            if (octet <= kLow) {
                rest_ = rest_.subspan(at + 1);
                return value;
            }
        }
        return std::nullopt;
    }
    /// The value in front, in little-endian octets.
    [[nodiscard]] std::optional<std::uint64_t> fixed64() const noexcept {
        static_assert(std::endian::native == std::endian::little);
        std::uint64_t value{};
        if (rest_.size() < sizeof(value)) {
            return std::nullopt;
        }
        std::memcpy(&value, rest_.data(), sizeof(value));
        return value;
    }

    MessageView rest_;
};

}  // namespace tributary
