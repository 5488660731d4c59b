// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/ipfix_item_format.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "export/hexadecimal.hpp"
#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/template_ids.hpp"
#include "export/ipfix_message.hpp"
#include "export/record_items.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {
namespace {

/// Of an item without records: its header, its key, its frame, the headers of the IPFIX message and
/// of its template set.
constexpr std::size_t kKeyOctets = 2;
constexpr std::size_t kItemOctets = kRecordItemHeader + kKeyOctets + RawFlow::kMostAround +
                                    IpfixMessage::kHeader + IpfixMessage::kSetHeader;
constexpr std::size_t kShortestMessage = 65'000;

static_assert(IpfixItemFormat::kLanes <= 0x100);

/// There are no options records to say the sampling of a selectorId.
CollectorOptions without_options_records(CollectorOptions collector) {
    collector.sampling = SamplingForm::none;
    return collector;
}

/// A smaller buffer, and its spool, hold some messages.
std::size_t most_message(std::size_t buffer) noexcept {
    constexpr std::size_t kMessagesInBuffer = 8;
    return std::clamp(buffer / kMessagesInBuffer, kShortestMessage, IpfixItemFormat::kMostMessage);
}

}  // namespace

/// What prepare_tables() has made.
struct IpfixItemFormat::NextTables final : Tables {
    Encodings encodings;
    TakenTables staying;
    std::vector<FlowShare> flow_shares;
};

IpfixItemFormat::IpfixItemFormat(const ExportOptions& options, const CollectorOptions& collector,
                                 const MeteringProcess& metering)
    : own_(encoder_options(options, without_options_records(collector), metering)),
      collector_(collector),
      most_message_(most_message(collector.buffer)),
      lanes_(collector.kafka.key == KafkaKey::none ? 1 : kLanes),
      key_octets_(collector.kafka.key == KafkaKey::none ? 0 : kKeyOctets),
      encodings_(make_encodings(metering, {})),
      numbering_(lanes_),
      ipfix_(kMostItem),
      flow_shares_(flow_shares(metering)) {
    if (collector.format == RecordFormatKind::rawflow) {
        raw_flow_.emplace(options.probe.address);
    }
}

/// Those of tables that do not stay.
IpfixItemFormat::Encodings IpfixItemFormat::make_encodings(const MeteringProcess& metering,
                                                           const TakenTables& staying) const {
    Encodings made(1 + metering.further.size());
    for (std::size_t index = 0; index < made.size(); ++index) {
        if (metering.has(index) && !staying.has(index)) {
            made[index] = make_encoding(metering, index);
        }
    }
    return made;
}

std::unique_ptr<IpfixItemFormat::Encoding> IpfixItemFormat::make_encoding(
    const MeteringProcess& metering, std::size_t index) const {
    const RecordLayout layout = metering.layouts()[index];
    std::optional<BiflowSplitter> splitter;
    if (is_split_for(collector_, layout)) {
        splitter.emplace(layout);
    }
    const RecordLayout sent = splitter ? splitter->layout() : layout;
    auto made = std::unique_ptr<Encoding>(new Encoding{
        .splitter = splitter,
        .encoder = IpfixEncoder(own_, sent, kMostItem, first_template_id(index, layout),
                                metering.elements_of(index)),
        .layout = layout,
        .record_bytes = record_size(layout)});
    made->lanes.resize(lanes_);
    made->has_shape.resize(lanes_ * made->encoder.shapes());
    return made;
}

std::unique_ptr<MessageFormat::Tables> IpfixItemFormat::prepare_tables(
    const MeteringProcess& metering, const TableChoice& choice) {
    auto prepared = std::make_unique<NextTables>();
    prepared->in_spool.resize(metering.further.size());
    prepared->encodings = make_encodings(metering, choice.staying);
    prepared->staying = choice.staying;
    prepared->flow_shares = flow_shares(metering);
    return prepared;
}

/// Each item has its templates: there is nothing to withdraw.
void IpfixItemFormat::take_tables(std::unique_ptr<Tables> prepared) noexcept {
    auto& next = static_cast<NextTables&>(*prepared);
    for (std::size_t index = 0; index < encodings_.size(); ++index) {
        if (next.staying.has(index)) {
            next.encodings[index] = std::move(encodings_[index]);
        }
    }
    encodings_ = std::move(next.encodings);
    flow_shares_ = std::move(next.flow_shares);
}

/// What a record needs in an item of its lane.
IpfixItemFormat::Growth IpfixItemFormat::growth_of(Encoding& to, const std::byte* record,
                                                   std::size_t lane) const noexcept {
    Growth growth{.new_item = kItemOctets};
    const auto add = [&](const std::byte* data_record) {
        const RecordNeed need = to.encoder.need_of(data_record);
        const std::size_t octets = IpfixMessage::kSetHeader + need.octets;
        const bool is_there = to.has_shape[lane * to.encoder.shapes() + need.shape];
        growth.in_item += octets + (is_there ? 0 : need.template_octets);
        growth.new_item += octets + need.template_octets;
        growth.shapes.at(growth.data_records++) = need.shape;
    };
    if (!to.splitter) {
        add(record);
        return growth;
    }
    const BiflowSplitter::Uniflows uniflows = to.splitter->split(record);
    add(uniflows.first);
    if (uniflows.second != nullptr) {
        add(uniflows.second);
    }
    return growth;
}

AppendResult IpfixItemFormat::append(const std::byte* record, OutgoingMessage& open) noexcept {
    Encoding& to = *encodings_[open.layout];
    const std::size_t number = lanes_ == 1 ? 0 : flow_shares_[open.layout].of(record) % lanes_;
    Lane& lane = to.lanes[number];
    const Growth growth = growth_of(to, record, number);
    const bool begins_item = lane.octets == 0 || lane.octets + growth.in_item > kMostItem;
    const std::size_t octets = begins_item ? growth.new_item : growth.in_item;
    if (!to.places.empty() && to.octets + octets > most_message_) {
        return AppendResult::message_full;
    }
    const bool is_next_item = begins_item && lane.octets != 0;
    const Place place{.lane = static_cast<std::uint16_t>(number),
                      .item = static_cast<std::uint16_t>(lane.item + (is_next_item ? 1 : 0))};
    const std::size_t records = to.places.size();
    try {
        to.places.push_back(place);
        to.records.insert(to.records.end(), record, record + to.record_bytes);
    } catch (const std::bad_alloc&) {
        to.places.resize(records);
        return AppendResult::message_full;
    }
    const auto shapes =
        to.has_shape.begin() + static_cast<std::ptrdiff_t>(number * to.encoder.shapes());
    if (begins_item) {
        std::fill_n(shapes, to.encoder.shapes(), false);
    }
    for (const std::size_t shape : std::span(growth.shapes).first(growth.data_records)) {
        shapes[static_cast<std::ptrdiff_t>(shape)] = true;
    }
    lane = {.octets = begins_item ? octets : lane.octets + octets, .item = place.item};
    to.octets += octets;
    return AppendResult::added;
}

void IpfixItemFormat::close(OutgoingMessage& open, ExportTime now) {
    Encoding& from = *encodings_[open.layout];
    try {
        write_items(from, open, now);
    } catch (...) {
        reset(from);
        throw;
    }
    reset(from);
}

/// Writes the records of an open message, lane by lane.
///
/// @errors  std::bad_alloc
void IpfixItemFormat::write_items(Encoding& from, OutgoingMessage& open, ExportTime now) {
    std::vector<std::uint32_t> order(from.places.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto item_of = [&from](std::uint32_t record) {
        return std::tuple(from.places[record].lane, from.places[record].item);
    };
    std::ranges::stable_sort(order, {}, item_of);
    Writing to{.octets = std::vector<std::byte>(from.octets)};
    for (auto first = order.cbegin(); first != order.cend();) {
        const auto end = std::find_if(first, order.cend(), [&](std::uint32_t record) {
            return item_of(record) != item_of(*first);
        });
        write_item(from, std::span(first, end), to, now);
        first = end;
    }
    sort_entries(open, from, order);
    to.octets.resize(to.used);
    open.octets = std::move(to.octets);
    open.data_records = to.items;
    open.latest_end = to.latest_end;
}

/// Puts the entries of a message, and the records that are kept with them, in the order of the
/// items.
///
/// @errors  std::bad_alloc: nothing has changed
void IpfixItemFormat::sort_entries(OutgoingMessage& message, const Encoding& from,
                                   std::span<const std::uint32_t> order) {
    if (message.entries.size() != order.size()) {
        return;  // the caller keeps no entries of the records
    }
    const bool keeps_records = message.records.size() == order.size() * from.record_bytes;
    std::vector<RecordEntry> entries(order.size());
    std::vector<std::byte> records(keeps_records ? message.records.size() : 0);
    for (std::size_t to = 0; to < order.size(); ++to) {
        entries[to] = message.entries[order[to]];
        if (keeps_records) {
            std::memcpy(records.data() + to * from.record_bytes,
                        message.records.data() + order[to] * from.record_bytes, from.record_bytes);
        }
    }
    message.entries.swap(entries);
    message.records.swap(records);
}

/// There is room: append() has seen to it.
void IpfixItemFormat::encode(Encoding& from, const std::byte* record) noexcept {
    if (!from.splitter) {
        static_cast<void>(from.encoder.append(record));
        return;
    }
    const BiflowSplitter::Uniflows uniflows = from.splitter->split(record);
    static_cast<void>(uniflows.second == nullptr
                          ? from.encoder.append(uniflows.first)
                          : from.encoder.append_pair(uniflows.first, uniflows.second));
}

/// The encoder announces the template of a shape with its first record.
void IpfixItemFormat::learn_templates(Encoding& from) {
    for (; from.learned < from.encoder.template_messages(); ++from.learned) {
        from.templates.learn(from.encoder.template_message(from.learned));
    }
}

/// @param records  of one item, as indices
/// @errors  std::bad_alloc
void IpfixItemFormat::write_item(Encoding& from, std::span<const std::uint32_t> records,
                                 Writing& to, ExportTime now) {
    RecordTally tally;
    for (const std::uint32_t index : records) {
        const std::byte* const record = from.records.data() + index * from.record_bytes;
        encode(from, record);
        tally += tally_of(record, from.layout);
    }
    const EncodedMessage encoded = from.encoder.close();
    learn_templates(from);
    const std::span ipfix =
        std::span(ipfix_).first(from.templates.octets_with_templates(encoded.octets));
    from.templates.write(encoded.octets, ipfix);
    const std::uint16_t lane = from.places[records.front()].lane;
    numbering_[lane].stamp(ipfix, encoded.records, now.wall, encoded.latest_end);

    const std::span<std::byte> item = std::span(to.octets).subspan(to.used);
    const std::span<std::byte> key = item.subspan(kRecordItemHeader, key_octets_);
    std::span<std::byte> value = item.subspan(kRecordItemHeader + key_octets_);
    if (!key.empty()) {
        put_hexadecimal(lane, key);
    }
    if (raw_flow_) {
        value = value.first(raw_flow_->write(ipfix, std::max(now.wall, encoded.latest_end), value));
    } else {
        value = value.first(ipfix.size());
        std::ranges::copy(ipfix, value.begin());
    }
    const std::uint32_t hash = key.empty() ? turn_++ : lane;
    write_item_header({.key = key, .value = value, .hash = hash, .tally = tally}, item);
    to.used += kRecordItemHeader + key.size() + value.size();
    ++to.items;
    to.latest_end = std::max(to.latest_end, encoded.latest_end);
}

void IpfixItemFormat::discard(OutgoingMessage& open) noexcept { reset(*encodings_[open.layout]); }

void IpfixItemFormat::reset(Encoding& encoding) noexcept {
    static_cast<void>(encoding.encoder.close());
    encoding.records.clear();
    encoding.places.clear();
    std::ranges::fill(encoding.lanes, Lane{});
    encoding.octets = 0;
}

SpoolContent IpfixItemFormat::spool_content() const {
    // Each item is complete by itself, whatever the templates of this process are: all layouts have
    // the same fingerprint.
    SpoolContent content{.format = raw_flow_ ? "kafka rawflow" : "kafka ipfix",
                         .version = 1,
                         .oldest_version = 1,
                         .is_message = are_items};
    content.further.resize(encodings_.size() - 1);
    return content;
}

bool IpfixItemFormat::readmit(const OutgoingMessage& message) noexcept {
    return count_items(message.octets) == message.data_records;
}

}  // namespace tributary
