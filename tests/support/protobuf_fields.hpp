// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

// A reader of protobuf messages for tests: it has nothing of the writer's, and refuses what the
// rules of the wire format do not allow.
namespace tributary::test {

struct ProtobufValue {
    unsigned wire_type{};
    std::uint64_t number{};         ///< varint, fixed64
    std::vector<std::byte> octets;  ///< length-delimited
};
/// By field number, each in the order of the message.
using ProtobufFields = std::map<std::uint32_t, std::vector<ProtobufValue>>;

/// Takes the varint at the front. The test fails if it is cut short, or is not the shortest form.
inline std::uint64_t take_varint(std::span<const std::byte>& from) {
    std::uint64_t value = 0;
    for (unsigned count = 0;; ++count) {
        REQUIRE(!from.empty());
        REQUIRE(count < 10);
        const auto octet = std::to_integer<std::uint64_t>(from.front());
        from = from.subspan(1);
        value |= (octet & 0x7FU) << 7U * count;
        if (octet < 0x80) {
            REQUIRE((octet != 0 || count == 0));
            return value;
        }
    }
}

inline ProtobufFields protobuf_fields(std::span<const std::byte> message) {
    ProtobufFields fields;
    while (!message.empty()) {
        const std::uint64_t tag = take_varint(message);
        ProtobufValue value{.wire_type = static_cast<unsigned>(tag & 7U), .octets = {}};
        const auto field = static_cast<std::uint32_t>(tag >> 3U);
        REQUIRE(field != 0);
        if (value.wire_type == 0) {
            value.number = take_varint(message);
        } else {
            REQUIRE((value.wire_type == 1 || value.wire_type == 2));
            const std::uint64_t octets = value.wire_type == 1 ? 8 : take_varint(message);
            REQUIRE(octets <= message.size());
            value.octets.assign(message.begin(),
                                message.begin() + static_cast<std::ptrdiff_t>(octets));
            message = message.subspan(octets);
        }
        fields[field].push_back(value);
    }
    return fields;
}

/// The only value of a field; 0: the field is not there.
inline std::uint64_t number_of(const ProtobufFields& fields, std::uint32_t field) {
    const auto found = fields.find(field);
    if (found == fields.end()) {
        return 0;
    }
    REQUIRE(found->second.size() == 1);
    REQUIRE(found->second.front().wire_type == 0);
    return found->second.front().number;
}

/// The only value of a field of octets; none: the field is not there.
inline std::vector<std::byte> octets_of(const ProtobufFields& fields, std::uint32_t field) {
    const auto found = fields.find(field);
    if (found == fields.end()) {
        return {};
    }
    REQUIRE(found->second.size() == 1);
    REQUIRE(found->second.front().wire_type != 0);
    return found->second.front().octets;
}

/// The values of a packed field.
inline std::vector<std::uint64_t> packed_of(const ProtobufFields& fields, std::uint32_t field) {
    std::vector<std::uint64_t> values;
    const std::vector<std::byte> octets = octets_of(fields, field);
    for (std::span<const std::byte> left = octets; !left.empty();) {
        values.push_back(take_varint(left));
    }
    return values;
}

}  // namespace tributary::test
