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
                 metering_as_sent(metering, collector), message_limit, encoders_of(encodings_),
                 taken_tables(collector, table_names(metering))) {}

IpfixFormat::Encodings IpfixFormat::make_encodings(const ExportOptions& own,
                                                   const CollectorOptions& collector,
                                                   const MeteringProcess& metering,
                                                   std::size_t message_limit) {
    const std::vector<RecordLayout> layouts = metering.layouts();
    const std::vector<std::uint16_t> ids = first_template_ids(layouts);
    const std::vector<std::string> names = table_names(metering);
    const TakenTables taken = taken_tables(collector, names);
    Encodings made;
    for (std::size_t index = 0; index < layouts.size(); ++index) {
        std::optional<BiflowSplitter> splitter;
        if (is_split_for(collector, layouts[index])) {
            splitter.emplace(layouts[index]);
        }
        const auto make = [&](std::size_t limit, const std::string& fault) {
            const RecordLayout& sent = splitter ? splitter->layout() : layouts[index];
            made.push_back(std::unique_ptr<Encoding>(new Encoding{
                splitter, IpfixEncoder(own, sent, limit, ids[index], metering.elements_of(index)),
                fault}));
        };
        try {
            make(message_limit, {});
        } catch (const ExportError& fault) {
            if (taken.has(index) || message_limit >= kLongestMessage) {
                throw;
            }
            make(kLongestMessage, "table " + names[index] + ": " + fault.what());
        }
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
