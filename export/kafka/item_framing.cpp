// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/item_framing.hpp"

#include <cstring>
#include <utility>

#include "export/export_error.hpp"
#include "export/hexadecimal.hpp"
#include "export/kafka/murmur2.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {
namespace {

constexpr std::size_t kFlowOctets = 8;
/// The bits of a key's hash that Java's producers use, because its integers are signed.
constexpr std::uint32_t kPositive = 0x7FFF'FFFF;

std::size_t most_key_octets(KafkaKey key, const std::optional<ElementText>& field) noexcept {
    if (field) {
        return field->most_octets();
    }
    return key == KafkaKey::flow ? kFlowOctets : 0;
}

}  // namespace

/// What prepare_tables() has made.
struct ItemFraming::NextTables final : Tables {
    NextTables(std::size_t before, OfTables made) : Tables(before), tables(std::move(made)) {}
    OfTables tables;
};

ItemFraming::ItemFraming(std::string_view format, ItemValue value, KafkaKey key,
                         const MeteringProcess& metering, MakeField field)
    : name_((value == ItemValue::delimited ? "kafka delimited " : "kafka ") + std::string(format)),
      is_delimited_(value == ItemValue::delimited),
      key_(key),
      make_field_(std::move(field)),
      tables_(make(metering, true)) {}

/// @param takes_new  records may come. Where none does, a table that alone has had the key may end.
/// @errors  ExportError
ItemFraming::OfTables ItemFraming::make(const MeteringProcess& metering, bool takes_new) const {
    OfTables made{.field = {},
                  .most_key_octets = 0,
                  .layouts = metering.layouts(),
                  .flow_shares = flow_shares(metering)};
    if (make_field_) {
        made.field.emplace(make_field_(metering));
        if (takes_new && !made.field->is_in_records()) {
            throw ExportError("no record has the element " + made.field->name());
        }
    }
    made.most_key_octets = most_key_octets(key_, made.field);
    return made;
}

std::unique_ptr<Framing::Tables> ItemFraming::prepare_tables(const MeteringProcess& metering,
                                                             const TableChoice& choice) {
    OfTables made = make(metering, choice.takes_new);
    const std::size_t before = octets_before(made);
    return std::make_unique<NextTables>(before, std::move(made));
}

void ItemFraming::take_tables(std::unique_ptr<Tables> prepared) noexcept {
    tables_ = std::move(static_cast<NextTables&>(*prepared).tables);
}

std::size_t ItemFraming::complete(std::span<std::byte> item, std::size_t encoded,
                                  const FramedRecord& record) noexcept {
    const Key key = write_key(record, item.subspan(kRecordItemHeader, tables_.most_key_octets));
    const std::size_t value_at = kRecordItemHeader + key.octets;
    if (key.octets < tables_.most_key_octets) {
        std::memmove(item.data() + value_at,
                     item.data() + kRecordItemHeader + tables_.most_key_octets,
                     length_octets() + encoded);
    }
    const RecordTally tally =
        record.is_first ? tally_of(record.bytes, tables_.layouts[record.layout]) : RecordTally{};
    const std::span<std::byte> room = item.subspan(value_at);
    const std::size_t octets = is_delimited_ ? delimit(room, encoded) : encoded;
    write_item_header({.key = item.subspan(kRecordItemHeader, key.octets),
                       .value = room.first(octets),
                       .hash = key.hash,
                       .tally = tally},
                      item);
    return value_at + octets;
}

ItemFraming::Key ItemFraming::write_key(const FramedRecord& record,
                                        std::span<std::byte> to) noexcept {
    if (key_ == KafkaKey::none) {
        return {.octets = 0, .hash = turn_++};
    }
    const FlowShare& share = tables_.flow_shares[record.layout];
    if (tables_.field) {
        const std::size_t octets = tables_.field->put(record.layout, record.sent, to);
        return octets > 0 ? Key{octets, murmur2(to.first(octets)) & kPositive}
                          : Key{0, share.of(record.bytes)};
    }
    const std::uint32_t flow = share.of(record.bytes);
    put_hexadecimal(flow, to);
    return {.octets = to.size(), .hash = flow};
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
