// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/item_framing.hpp"

#include "export/hexadecimal.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {
namespace {

constexpr std::size_t kKeyOctets = 8;

}  // namespace

ItemFraming::ItemFraming(std::string_view format, KafkaKey key, const MeteringProcess& metering)
    : name_("kafka " + std::string(format)),
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
    write_item_header(
        {.key = key, .value = item.subspan(octets_before(), encoded), .hash = hash, .tally = tally},
        item);
    return octets_before() + encoded;
}

std::size_t ItemFraming::records_in(MessageView message) const noexcept {
    return count_items(message);
}

MessageView ItemFraming::take_record(MessageView& message) const noexcept {
    RecordItems items(message);
    const auto item = items.next();
    message = items.rest();
    return item ? item->value : MessageView{};
}

}  // namespace tributary
