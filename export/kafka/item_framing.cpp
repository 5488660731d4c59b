// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/item_framing.hpp"

#include "export/hexadecimal.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {
namespace {

constexpr std::size_t kKeyOctets = 8;

}  // namespace

ItemFraming::ItemFraming(std::string_view format, ItemValue value, KafkaKey key,
                         const MeteringProcess& metering)
    : name_((value == ItemValue::delimited ? "kafka delimited " : "kafka ") + std::string(format)),
      is_delimited_(value == ItemValue::delimited),
      key_octets_(key == KafkaKey::flow ? kKeyOctets : 0),
      layouts_(metering.layouts()) {}

std::size_t ItemFraming::complete(std::span<std::byte> item, std::size_t encoded,
                                  const FramedRecord& record) noexcept {
    const std::span<std::byte> key = item.subspan(kRecordItemHeader, key_octets_);
    std::uint32_t hash{};
    if (key.empty()) {
        hash = turn_++;
    } else {
        hash = flow_share_.of(record.bytes);
        put_hexadecimal(hash, key);
    }
    const RecordTally tally =
        record.is_first ? tally_of(record.bytes, layouts_[record.layout]) : RecordTally{};
    const std::span<std::byte> room = item.subspan(value_at());
    const std::size_t octets = is_delimited_ ? delimit(room, encoded) : encoded;
    write_item_header({.key = key, .value = room.first(octets), .hash = hash, .tally = tally},
                      item);
    return value_at() + octets;
}

std::size_t ItemFraming::records_in(MessageView message) const noexcept {
    return count_items(message);
}

MessageView ItemFraming::take_record(MessageView& message) const noexcept {
    RecordItems items(message);
    const auto item = items.next();
    message = items.rest();
    MessageView value = item ? item->value : MessageView{};
    return is_delimited_ ? take_delimited(value) : value;
}

}  // namespace tributary
