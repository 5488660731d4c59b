// SPDX-License-Identifier: Apache-2.0
#include "export/message.hpp"

#include <algorithm>
#include <chrono>

#include "export/ipfix_message.hpp"

namespace tributary {
namespace {

constexpr std::size_t kExportTimeAt = 4;  // RFC 7011 §3.1
constexpr std::size_t kSequenceAt = 8;

void put_be32(std::byte* out, std::uint32_t value) noexcept {
    for (unsigned shift = 32; shift > 0;) {
        shift -= 8;
        *out++ = static_cast<std::byte>(value >> shift);
    }
}

std::uint32_t read_be16(MessageView octets, std::size_t at) noexcept {
    return std::to_integer<std::uint32_t>(octets[at]) << 8U |
           std::to_integer<std::uint32_t>(octets[at + 1]);
}

std::uint32_t whole_seconds_after(Timestamp time) noexcept {
    return static_cast<std::uint32_t>(
        std::chrono::ceil<std::chrono::seconds>(time.time_since_epoch()).count());
}

std::uint32_t whole_seconds_until(Timestamp time) noexcept {
    return static_cast<std::uint32_t>(
        std::chrono::floor<std::chrono::seconds>(std::clamp(time, kFirstTimestamp, kLastTimestamp))
            .time_since_epoch()
            .count());
}

}  // namespace

bool is_data_message(MessageView octets) noexcept {
    if (octets.size() < IpfixMessage::kHeader + IpfixMessage::kSetHeader ||
        read_be16(octets, 0) != IpfixMessage::kVersion || read_be16(octets, 2) != octets.size()) {
        return false;
    }
    for (MessageView sets = octets.subspan(IpfixMessage::kHeader); !sets.empty();) {
        const std::size_t length = sets.size() < IpfixMessage::kSetHeader ? 0 : read_be16(sets, 2);
        if (length < IpfixMessage::kSetHeader || length > sets.size() ||
            read_be16(sets, 0) < IpfixMessage::kFirstDataSet) {
            return false;
        }
        sets = sets.subspan(length);
    }
    return true;
}

void clear_stamp(std::span<std::byte> message) noexcept {
    put_be32(message.data() + kExportTimeAt, 0);
    put_be32(message.data() + kSequenceAt, 0);
}

void MessageNumbering::stamp(std::span<std::byte> message, std::uint32_t records, Timestamp now,
                             Timestamp latest_end) noexcept {
    const std::uint32_t earliest =
        std::max(whole_seconds_until(now), whole_seconds_after(latest_end));
    const bool went_back =
        last_export_ > earliest && last_export_ - earliest > kFurthestAhead.count();
    last_export_ = went_back ? earliest : std::max(last_export_, earliest);
    put_be32(message.data() + kExportTimeAt, last_export_);
    put_be32(message.data() + kSequenceAt, sequence_);
    sequence_ += records;
}

}  // namespace tributary
