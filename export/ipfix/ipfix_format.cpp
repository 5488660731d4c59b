// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/ipfix_format.hpp"

#include <utility>

#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/template_ids.hpp"

namespace tributary {
namespace {

/// Of tables that the collector does not take, where messages within its limit are too short.
constexpr std::size_t kLongestMessage = 65'000;

template <class Encodings>
std::vector<const IpfixEncoder*> encoders_of(const Encodings& encodings) {
    std::vector<const IpfixEncoder*> encoders;
    encoders.reserve(encodings.size());
    for (const auto& each : encodings) {
        encoders.push_back(each == nullptr ? nullptr : &each->encoder);
    }
    return encoders;
}

}  // namespace

/// What prepare_tables() has made.
struct IpfixFormat::NextTables final : Tables {
    Encodings encodings;  ///< by table; nullptr: it stays, or the place is free
    std::vector<std::size_t> turns;
    TemplateScheduler::Tables templates;
};

IpfixFormat::IpfixFormat(const ExportOptions& options, const CollectorOptions& collector,
                         const MeteringProcess& metering, std::size_t message_limit)
    : own_(encoder_options(options, collector, metering)),
      collector_(collector),
      message_limit_(message_limit),
      turns_(1 + metering.further.size()),
      has_turns_(collector.transport == TransportKind::udp),
      encodings_(make_encodings(
          metering, {.taken = taken_tables(collector, table_names(metering)), .staying = {}},
          turns_)),
      templates_(own_, collector.transport, metering_as_sent(metering, collector), message_limit,
                 {.by_table = encoders_of(encodings_),
                  .taken = taken_tables(collector, table_names(metering))}) {}

/// @errors  ExportError: the records do not fit the limit
std::unique_ptr<IpfixFormat::Encoding> IpfixFormat::make_encoding(const MeteringProcess& metering,
                                                                  const Place& place,
                                                                  std::size_t message_limit) const {
    const RecordLayout layout = metering.layouts()[place.table];
    std::optional<BiflowSplitter> splitter;
    if (is_split_for(collector_, layout)) {
        splitter.emplace(layout);
    }
    const RecordLayout& sent = splitter ? splitter->layout() : layout;
    const std::uint16_t first_id = first_template_id(place.table, layout, place.turn);
    return std::unique_ptr<Encoding>(new Encoding{
        splitter,
        IpfixEncoder(own_, sent, message_limit, first_id, metering.elements_of(place.table)),
        {}});
}

/// That of a table that the collector does not take: its messages may be longer.
///
/// @errors  ExportError: there are no such messages
std::unique_ptr<IpfixFormat::Encoding> IpfixFormat::make_spare_encoding(
    const MeteringProcess& metering, const Place& place) const {
    try {
        return make_encoding(metering, place, message_limit_);
    } catch (const ExportError& fault) {
        auto made = make_encoding(metering, place, kLongestMessage);
        made->fault = "table " + table_names(metering)[place.table] + ": " + fault.what();
        return made;
    }
}

/// Those of tables that do not stay.
///
/// @param turns  by table
IpfixFormat::Encodings IpfixFormat::make_encodings(const MeteringProcess& metering,
                                                   const TableChoice& choice,
                                                   const std::vector<std::size_t>& turns) const {
    Encodings made(1 + metering.further.size());
    for (std::size_t table = 0; table < made.size(); ++table) {
        if (!metering.has(table) || choice.staying.has(table)) {
            continue;
        }
        const Place place{.table = table, .turn = turns[table]};
        made[table] = choice.taken.has(table) ? make_encoding(metering, place, message_limit_)
                                              : make_spare_encoding(metering, place);
    }
    return made;
}

std::unique_ptr<MessageFormat::Tables> IpfixFormat::prepare_tables(const MeteringProcess& metering,
                                                                   const TableChoice& choice) {
    auto prepared = std::make_unique<NextTables>();
    for (std::size_t table = 0; table < encodings_.size(); ++table) {
        const Encoding* const present = encodings_[table].get();
        const bool stays = present != nullptr && choice.staying.has(table);
        if (stays && choice.taken.has(table) && !present->fault.empty()) {
            throw ExportError(present->fault);
        }
    }
    prepared->turns = turns_;
    prepared->turns.resize(1 + metering.further.size());
    for (std::size_t table = 0; table < encodings_.size() && has_turns_; ++table) {
        prepared->turns[table] +=
            encodings_[table] != nullptr && !choice.staying.has(table) ? 1 : 0;
    }
    prepared->encodings = make_encodings(metering, choice, prepared->turns);
    prepared->in_spool.resize(metering.further.size());
    for (std::size_t table = 1; table < prepared->encodings.size(); ++table) {
        const auto& encoding =
            choice.staying.has(table) ? encodings_[table] : prepared->encodings[table];
        prepared->in_spool[table - 1] = in_spool(encoding.get());
    }
    prepared->templates = templates_.prepare(metering_as_sent(metering, collector_),
                                             encoders_of(prepared->encodings), choice);
    return prepared;
}

void IpfixFormat::take_tables(std::unique_ptr<Tables> prepared) noexcept {
    auto& next = static_cast<NextTables&>(*prepared);
    const TakenTables staying = next.templates.choice.staying;
    templates_.take(std::move(next.templates));
    for (std::size_t table = 0; table < encodings_.size(); ++table) {
        if (staying.has(table)) {
            next.encodings[table] = std::move(encodings_[table]);
        }
    }
    encodings_ = std::move(next.encodings);
    turns_ = std::move(next.turns);
}

AppendResult IpfixFormat::append(const std::byte* record, OutgoingMessage& open) noexcept {
    Encoding& encoding = *encodings_[open.layout];
    if (!encoding.splitter) {
        return encoding.encoder.append(record);
    }
    const BiflowSplitter::Uniflows uniflows = encoding.splitter->split(record);
    return uniflows.second == nullptr
               ? encoding.encoder.append(uniflows.first)
               : encoding.encoder.append_pair(uniflows.first, uniflows.second);
}

void IpfixFormat::close(OutgoingMessage& open, ExportTime /*now*/) {
    const EncodedMessage closed = encodings_[open.layout]->encoder.close();
    open.octets.assign(closed.octets.begin(), closed.octets.end());
    open.data_records = closed.records;
    open.latest_end = closed.latest_end;
}

void IpfixFormat::discard(OutgoingMessage& open) noexcept {
    static_cast<void>(encodings_[open.layout]->encoder.close());
}

void IpfixFormat::stamp(OutgoingMessage& message, ExportTime now) noexcept {
    if (message.kind != MessageKind::ahead) {
        templates_.count_data();
    }
    numbering_.stamp(message.octets, message.data_records, now.wall, message.latest_end);
}

/// @param encoding  nullptr: the place is free
SpoolLayout IpfixFormat::in_spool(const Encoding* encoding) noexcept {
    return {.fingerprint = encoding == nullptr ? 0 : encoding->encoder.fingerprint(),
            .is_there = encoding != nullptr};
}

SpoolContent IpfixFormat::spool_content() const {
    SpoolContent content{.fingerprint = encodings_.front()->encoder.fingerprint()};
    for (std::size_t index = 1; index < encodings_.size(); ++index) {
        content.further.push_back(in_spool(encodings_[index].get()));
    }
    return content;
}

bool IpfixFormat::readmit(const OutgoingMessage& message) noexcept {
    return encodings_[message.layout]->encoder.announce_for(message.octets) == message.data_records;
}

}  // namespace tributary
