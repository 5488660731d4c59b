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
        encoders.push_back(&each->encoder);
    }
    return encoders;
}

}  // namespace

IpfixFormat::IpfixFormat(const ExportOptions& options, const CollectorOptions& collector,
                         const MeteringProcess& metering, std::size_t message_limit)
    : encodings_(make_encodings(encoder_options(options, collector, metering), collector, metering,
                                message_limit)),
      templates_(encoder_options(options, collector, metering), collector.transport,
                 metering_as_sent(metering, collector), message_limit,
                 {.by_table = encoders_of(encodings_),
                  .taken = taken_tables(collector, table_names(metering))}) {}

/// @errors  ExportError: the records do not fit the limit
std::unique_ptr<IpfixFormat::Encoding> IpfixFormat::make_encoding(const ExportOptions& own,
                                                                  const CollectorOptions& collector,
                                                                  const MeteringProcess& metering,
                                                                  std::size_t table,
                                                                  std::size_t message_limit) {
    const std::vector<RecordLayout> layouts = metering.layouts();
    std::optional<BiflowSplitter> splitter;
    if (is_split_for(collector, layouts[table])) {
        splitter.emplace(layouts[table]);
    }
    const RecordLayout& sent = splitter ? splitter->layout() : layouts[table];
    return std::unique_ptr<Encoding>(
        new Encoding{splitter,
                     IpfixEncoder(own, sent, message_limit, first_template_ids(layouts)[table],
                                  metering.elements_of(table)),
                     {}});
}

/// That of a table that the collector does not take: its messages may be longer.
///
/// @errors  ExportError: there are no such messages
std::unique_ptr<IpfixFormat::Encoding> IpfixFormat::make_spare_encoding(
    const ExportOptions& own, const CollectorOptions& collector, const MeteringProcess& metering,
    std::size_t table, std::size_t message_limit) {
    try {
        return make_encoding(own, collector, metering, table, message_limit);
    } catch (const ExportError& fault) {
        auto made = make_encoding(own, collector, metering, table, kLongestMessage);
        made->fault = "table " + table_names(metering)[table] + ": " + fault.what();
        return made;
    }
}

IpfixFormat::Encodings IpfixFormat::make_encodings(const ExportOptions& own,
                                                   const CollectorOptions& collector,
                                                   const MeteringProcess& metering,
                                                   std::size_t message_limit) {
    const std::vector<std::string> names = table_names(metering);
    const TakenTables taken = taken_tables(collector, names);
    Encodings made;
    for (std::size_t table = 0; table < names.size(); ++table) {
        const auto make = taken.has(table) ? make_encoding : make_spare_encoding;
        made.push_back(make(own, collector, metering, table, message_limit));
    }
    return made;
}

void IpfixFormat::check_tables(const TakenTables& taken) const {
    for (std::size_t table = 0; table < encodings_.size(); ++table) {
        const std::string& fault = encodings_[table]->fault;
        if (taken.has(table) && !fault.empty()) {
            throw ExportError(fault);
        }
    }
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

SpoolContent IpfixFormat::spool_content() const {
    SpoolContent content{.fingerprint = encodings_.front()->encoder.fingerprint()};
    for (std::size_t index = 1; index < encodings_.size(); ++index) {
        content.further.push_back({.fingerprint = encodings_[index]->encoder.fingerprint()});
    }
    return content;
}

bool IpfixFormat::readmit(const OutgoingMessage& message) noexcept {
    return encodings_[message.layout]->encoder.announce_for(message.octets) == message.data_records;
}

}  // namespace tributary
