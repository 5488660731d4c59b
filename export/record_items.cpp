// SPDX-License-Identifier: Apache-2.0
#include "export/record_items.hpp"

#include <cstring>

namespace tributary {
namespace {

/// As it is in memory, and in a spool, whose files one machine writes and reads.
struct Header {
    std::uint32_t key{};    ///< octets
    std::uint32_t value{};  ///< octets
    std::uint32_t hash{};
    std::uint32_t records{};
    std::uint64_t packets{};
    std::uint64_t octets{};
};
static_assert(sizeof(Header) == kRecordItemHeader);

}  // namespace

void write_item_header(const RecordItem& item, std::span<std::byte> header) noexcept {
    const Header made{.key = static_cast<std::uint32_t>(item.key.size()),
                      .value = static_cast<std::uint32_t>(item.value.size()),
                      .hash = item.hash,
                      .records = static_cast<std::uint32_t>(item.tally.records),
                      .packets = item.tally.packets,
                      .octets = item.tally.octets};
    std::memcpy(header.data(), &made, sizeof(Header));
}

std::optional<RecordItem> RecordItems::next() noexcept {
    Header header;
    if (rest_.size() < sizeof(Header)) {
        return std::nullopt;
    }
    std::memcpy(&header, rest_.data(), sizeof(Header));
    const MessageView behind = rest_.subspan(sizeof(Header));
    if (behind.size() < std::size_t{header.key} + header.value) {
        return std::nullopt;
    }
    rest_ = behind.subspan(std::size_t{header.key} + header.value);
    return RecordItem{.key = behind.first(header.key),
                      .value = behind.subspan(header.key, header.value),
                      .hash = header.hash,
                      .tally = {header.records, header.packets, header.octets}};
}

void set_tally(std::span<std::byte> item, const RecordTally& tally) noexcept {
    Header header;
    std::memcpy(&header, item.data(), sizeof(Header));
    header.records = static_cast<std::uint32_t>(tally.records);
    header.packets = tally.packets;
    header.octets = tally.octets;
    std::memcpy(item.data(), &header, sizeof(Header));
}

std::size_t count_items(MessageView octets) noexcept {
    std::size_t count = 0;
    for (RecordItems items(octets); items.next();) {
        ++count;
    }
    return count;
}

bool are_items(MessageView octets) noexcept {
    RecordItems items(octets);
    std::optional<RecordItem> item = items.next();
    if (!item || item->tally.records == 0) {
        return false;
    }
    while (item) {
        item = items.next();
    }
    return items.at_end();
}

}  // namespace tributary
