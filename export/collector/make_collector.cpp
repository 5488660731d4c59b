// SPDX-License-Identifier: Apache-2.0
// Which class a collector is, and which format its messages have, by its options.
#include <memory>
#include <string_view>
#include <utility>

#include "export/collector/collector.hpp"
#include "export/collector/message_collector.hpp"
#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/ipfix_format.hpp"
#include "export/kafka/ipfix_item_format.hpp"
#include "export/kafka/item_framing.hpp"
#include "export/kafka/kafka_transport.hpp"
#include "export/messages/csv_encoder.hpp"
#include "export/messages/element_text.hpp"
#include "export/messages/flow_csv.hpp"
#include "export/messages/flow_message_encoder.hpp"
#include "export/messages/json_encoder.hpp"
#include "export/messages/record_format.hpp"
#include "export/messages/stream_identity.hpp"
#include "export/transport/transport.hpp"

namespace tributary {

namespace {

/// Parts the records of a topic, or of a stream or file.
///
/// @param collector  as its records are made
/// @param name       of the records, for spools
/// @param otherwise  not for Kafka
std::unique_ptr<Framing> framing_of(const CollectorParts& parts, const CollectorOptions& collector,
                                    std::string_view name, std::unique_ptr<Framing> otherwise) {
    if (collector.transport != TransportKind::kafka) {
        return otherwise;
    }
    const bool is_delimited =
        collector.format == RecordFormatKind::flowmessage && collector.kafka.delimited;
    ItemFraming::MakeField field;
    if (collector.kafka.key == KafkaKey::field) {
        field = [collector, options = encoder_options(parts.options, collector, parts.metering)](
                    const MeteringProcess& metering) {
            return ElementText(collector.kafka.key_field, options,
                               metering_as_sent(metering, collector));
        };
    }
    return std::make_unique<ItemFraming>(name,
                                         is_delimited ? ItemValue::delimited : ItemValue::bare,
                                         collector.kafka.key, parts.metering, std::move(field));
}

std::unique_ptr<MessageFormat> make_json(const CollectorParts& parts) {
    const CollectorOptions& collector = parts.collector();
    auto encoder = std::make_unique<JsonEncoder>(
        encoder_options(parts.options, collector, parts.metering),
        metering_as_sent(parts.metering, collector), new_stream(parts.options, collector));
    return std::make_unique<RecordFormat>(
        RecordFormatParts{.encoder = std::move(encoder),
                          .framing = framing_of(parts, collector, "json",
                                                std::make_unique<LineFraming>("json lines"))},
        collector, parts.metering);
}

std::unique_ptr<MessageFormat> make_csv(const CollectorParts& parts) {
    const CollectorOptions& collector = parts.collector();
    auto encoder =
        std::make_unique<CsvEncoder>(encoder_options(parts.options, collector, parts.metering),
                                     metering_as_sent(parts.metering, collector));
    return std::make_unique<RecordFormat>(
        RecordFormatParts{.encoder = std::move(encoder),
                          .framing = std::make_unique<LineFraming>("csv lines"),
                          .header = flow_csv_header() + '\n'},
        collector, parts.metering);
}

/// FlowMessages are of uniflows, whatever the collector's `direction` is.
std::unique_ptr<MessageFormat> make_flow_messages(const CollectorParts& parts) {
    CollectorOptions collector = parts.collector();
    collector.direction = FlowDirection::uniflow;
    const MeteringProcess sent = metering_as_sent(parts.metering, collector);
    auto encoder = std::make_unique<FlowMessageEncoder>(
        new_stream(parts.options, collector),
        encoder_options(parts.options, collector, parts.metering), sent, sent.layouts());
    return std::make_unique<RecordFormat>(
        RecordFormatParts{
            .encoder = std::move(encoder),
            .framing = framing_of(parts, collector, "FlowMessages",
                                  std::make_unique<DelimitedFraming>("FlowMessages"))},
        collector, parts.metering);
}

std::unique_ptr<MessageFormat> make_format(const CollectorParts& parts) {
    const CollectorOptions& collector = parts.collector();
    switch (collector.format) {
        case RecordFormatKind::json:
            return make_json(parts);
        case RecordFormatKind::flowmessage:
            return make_flow_messages(parts);
        case RecordFormatKind::csv:
            return make_csv(parts);
        case RecordFormatKind::rawflow:
        case RecordFormatKind::ipfix:
            break;
    }
    if (collector.transport == TransportKind::kafka) {
        return std::make_unique<IpfixItemFormat>(parts.options, collector, parts.metering);
    }
    return std::make_unique<IpfixFormat>(parts.options, collector, parts.metering,
                                         message_limit(collector));
}

}  // namespace

std::unique_ptr<Collector> make_collector(const CollectorParts& parts) {
    const bool is_kafka = parts.collector().transport == TransportKind::kafka;
    return std::make_unique<MessageCollector>(parts, make_format(parts),
                                              is_kafka ? make_kafka_transport : make_transport);
}

}  // namespace tributary
