// SPDX-License-Identifier: Apache-2.0
#include "export/messages/framing.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace tributary {
namespace {

constexpr std::byte kMore{0x80};
constexpr unsigned kVarintBits = 7;

/// Octets of the delimited message at the front with its length; nothing: it is none.
/// @source  protobuf.dev/programming-guides/encoding: varints
std::optional<std::size_t> delimited_octets(MessageView octets) noexcept {
    if (octets.empty()) {
        return std::nullopt;
    }
    std::size_t before = 1;
    auto length = std::to_integer<std::size_t>(octets[0]);
    if ((octets[0] & kMore) != std::byte{}) {
        if (octets.size() < 2 || octets[1] == std::byte{} || (octets[1] & kMore) != std::byte{}) {
            return std::nullopt;
        }
        before = 2;
        length = std::to_integer<std::size_t>(octets[0] & ~kMore) |
                 std::to_integer<std::size_t>(octets[1]) << kVarintBits;
    }
    return length != 0 && before + length <= octets.size() ? std::optional(before + length)
                                                           : std::nullopt;
}

}  // namespace

bool are_lines(MessageView octets) noexcept {
    constexpr std::byte kEnd{'\n'};
    if (octets.empty() || octets.back() != kEnd) {
        return false;
    }
    std::byte before = kEnd;
    for (const std::byte octet : octets) {
        if (octet == std::byte{0} || (octet == kEnd && before == kEnd)) {
            return false;
        }
        before = octet;
    }
    return true;
}

std::size_t LineFraming::records_in(MessageView message) const noexcept {
    return static_cast<std::size_t>(std::ranges::count(message, std::byte{'\n'}));
}

MessageView LineFraming::take_record(MessageView& message) const noexcept {
    const auto end = std::ranges::find(message, std::byte{'\n'});
    if (end == message.end()) {
        return {};
    }
    const auto octets = static_cast<std::size_t>(end - message.begin());
    const MessageView record = message.first(octets);
    message = message.subspan(octets + 1);
    return record;
}

bool are_delimited(MessageView octets) noexcept {
    bool is_good = !octets.empty();
    while (is_good && !octets.empty()) {
        const std::optional<std::size_t> next = delimited_octets(octets);
        is_good = next.has_value();
        octets = octets.subspan(next.value_or(0));
    }
    return is_good;
}

std::size_t delimit(std::span<std::byte> room, std::size_t encoded) noexcept {
    const std::byte low{static_cast<unsigned char>(encoded)};
    if (encoded >> kVarintBits == 0) {
        room[0] = low;
        std::memmove(room.data() + 1, room.data() + kLengthOctets, encoded);
        return 1 + encoded;
    }
    room[0] = low | kMore;
    room[1] = static_cast<std::byte>(encoded >> kVarintBits);
    return kLengthOctets + encoded;
}

MessageView take_delimited(MessageView& octets) noexcept {
    const std::size_t whole = delimited_octets(octets).value_or(0);
    if (whole == 0) {
        return {};
    }
    const std::size_t before = (octets[0] & kMore) == std::byte{} ? 1 : kLengthOctets;
    const MessageView message = octets.subspan(before, whole - before);
    octets = octets.subspan(whole);
    return message;
}

std::size_t DelimitedFraming::records_in(MessageView message) const noexcept {
    std::size_t records = 0;
    while (const std::size_t octets = delimited_octets(message).value_or(0)) {
        message = message.subspan(octets);
        ++records;
    }
    return records;
}

}  // namespace tributary
