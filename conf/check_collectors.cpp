// SPDX-License-Identifier: Apache-2.0
#include "conf/check_collectors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "conf/address_rules.hpp"
#include "conf/config_change.hpp"
#include "conf/config_error.hpp"
#include "conf/config_section.hpp"
#include "conf/declared_tables.hpp"
#include "conf/export_keys.hpp"
#include "conf/rules.hpp"
#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/named_field.hpp"
#include "export/metering_process.hpp"
#include "export/path_target.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/table/closest.hpp"

namespace tributary {
namespace {

/// Keys of a host, where there is none.
void refuse_host(const CollectorOptions& collector, const Section& section,
                 const char* const words) {
    section.demand("host", collector.host.empty(), words);
    section.demand("port", collector.port == 0, words);
    section.demand("source-address", collector.source_address.empty(), words);
}

void check_topic(const CollectorOptions& collector, const Section& section) {
    section.demand("brokers", !collector.kafka.brokers.empty(),
                   " is missing; must be brokers of the cluster, HOST:PORT,... (transport is "
                   "kafka)");
    section.demand("topic", !collector.kafka.topic.empty(),
                   " is missing; must be the topic that records go to (transport is kafka)");
    section.demand("path", collector.path.empty(),
                   " is given, but transport is not file; must be left out (or transport file)");
    refuse_host(collector, section,
                " is given, but transport is kafka; must be left out (brokers has hosts and "
                "ports)");
    section.demand("delimited",
                   collector.kafka.delimited || collector.format == RecordFormatKind::flowmessage,
                   " is given, but format is " + format_name(collector.format) +
                       "; must be left out (or format flowmessage)");
}

void refuse_topic(const KafkaOptions& kafka, const Section& section) {
    const KafkaOptions unset;
    const char* const words = " is given, but transport is not kafka; must be left out";
    section.demand("brokers", kafka.brokers.empty(), words);
    section.demand("topic", kafka.topic.empty(), words);
    section.demand("key", kafka.key == unset.key, words);
    section.demand("delimited", kafka.delimited == unset.delimited, words);
    section.demand("compression", kafka.compression == unset.compression, words);
    section.demand("properties", kafka.properties.empty(), words);
    section.demand("secrets", kafka.secrets.empty(), words);
}

void check_place(const CollectorOptions& collector, const Section& section) {
    if (collector.transport == TransportKind::kafka) {
        check_topic(collector, section);
        return;
    }
    refuse_topic(collector.kafka, section);
    if (collector.transport == TransportKind::file) {
        section.demand("path", !collector.path.empty(),
                       " is missing; must be the path of the file to write (transport is file)");
        refuse_host(
            collector, section,
            " is given, but transport is file; must be left out (or transport udp, tcp or tls)");
        return;
    }
    section.demand(
        "host", !collector.host.empty(),
        " is missing; must be the collector's name or address (or transport must be file)");
    section.demand("path", collector.path.empty(),
                   " is given, but transport is not file; must be left out (or transport file)");
}

/// Which transport takes which format.
void check_format_of_transport(const CollectorOptions& collector, const Section& section) {
    const bool is_kafka = collector.transport == TransportKind::kafka;
    if (collector.format == RecordFormatKind::ipfix) {
        return;
    }
    if (collector.format == RecordFormatKind::rawflow) {
        section.demand("format", is_kafka,
                       " is rawflow, but transport is not kafka; must be ipfix (or transport "
                       "kafka)");
        return;
    }
    const std::string format = format_name(collector.format);
    if (collector.format == RecordFormatKind::csv) {
        section.demand(
            "format", collector.transport == TransportKind::file,
            " is csv, but transport is not file; must be " +
                std::string(is_kafka ? "json, flowmessage, rawflow or ipfix" : "ipfix or json") +
                " (or transport file)");
        return;
    }
    section.demand("format", collector.transport != TransportKind::udp,
                   " is " + format +
                       ", but transport is udp; must be ipfix (or transport tcp, tls, file or "
                       "kafka)");
    const bool has_port =
        is_kafka || collector.transport == TransportKind::file || collector.port != 0;
    section.demand(
        "port", has_port,
        " is missing; must be the port of the program that reads the records (format is " + format +
            ")");
}

/// Keys of options records, for messages of a topic: each is read alone, by one of many readers.
void refuse_options_records(const CollectorOptions& collector, const Section& section) {
    const CollectorOptions unset;
    const std::string words = " is given, but transport is kafka; must be left out (";
    if (collector.profile != unset.profile) {  // it has set some of the keys below
        section.demand("profile", false, words + "profiles are those of IPFIX collectors)");
        return;
    }
    const std::string no_options = words + "no options records go to topics)";
    section.demand("sampling", collector.sampling == unset.sampling, no_options);
    section.demand("options", collector.options == unset.options, no_options);
}

/// Whether some record of the main table has the element by which messages go to partitions.
bool has_key_field_of_main(const Config& config, const CollectorOptions& collector) {
    MeteringProcess metering{.layout = layout_of_flows(config.export_.fields, config.flows),
                             .key = config.flows.key};
    for (const InputOptions& input : config.inputs) {
        metering.interfaces.emplace_back().sampling = {.one_in = input.sampling,
                                                       .method = input.sampling_method};
    }
    const ExportOptions own = encoder_options(config.export_, collector, metering);
    const auto fields =
        fields_named(collector.kafka.key_field, metering_as_sent(metering, collector).layout,
                     own.timestamps, element_choice(own, metering.elements_of(0)));
    return std::ranges::any_of(fields, [](const auto& field) { return field.has_value(); });
}

/// Whether some record of this collector has it.
bool has_key_field(const Config& config, const CollectorOptions& collector) {
    if (takes_table(collector, kMainTable) && has_key_field_of_main(config, collector)) {
        return true;
    }
    const std::vector<TableDeclaration> tables = declared_tables_of(config, collector);
    return std::ranges::any_of(tables, [&](const TableDeclaration& table) {
        const auto compiled = compile_if_good(config, table);
        // Of a table with a fault, that is told.
        return compiled == nullptr ||
               has_element(config, collector, *compiled, collector.kafka.key_field);
    });
}

void check_key_field(const Config& config, CollectorOptions collector, const Section& section) {
    const RecordLayout layout = layout_of_flows(config.export_.fields, config.flows);
    if (collector.kafka.key != KafkaKey::field || record_kinds(layout) > kMostRecordKinds) {
        return;  // check_config.cpp refuses so many kinds; here they would all be built
    }
    const std::string given = " is " + collector.kafka.key_field + ", but ";
    const bool is_of_many = collector.format == RecordFormatKind::ipfix ||
                            collector.format == RecordFormatKind::rawflow;
    section.demand("key", !is_of_many,
                   given + "format is " + format_name(collector.format) +
                       "; must be flow or none (or format json or flowmessage, of which a message "
                       "has one record)");
    if (collector.format == RecordFormatKind::flowmessage) {
        collector.direction = FlowDirection::uniflow;
    }
    section.demand("key", is_of_many || has_key_field(config, collector),
                   given +
                       "no record has this element; must be flow, none or an element that "
                       "records have (export.fields and flows decide)");
}

/// The keys of IPFIX alone.
void check_format(const CollectorOptions& collector, const ProbeIdentity& probe,
                  const Section& section) {
    check_format_of_transport(collector, section);
    const bool is_raw_flow = collector.format == RecordFormatKind::rawflow;
    section.demand("format", !is_raw_flow || !probe.address.empty(),
                   " is rawflow, but export.probe.address is empty; must have an address there "
                   "(Akvorado knows exporters by their addresses)");
    if (is_raw_flow || collector.format == RecordFormatKind::ipfix) {
        if (collector.transport == TransportKind::kafka) {
            refuse_options_records(collector, section);
        }
        return;
    }
    const CollectorOptions unset;
    const bool is_csv = collector.format == RecordFormatKind::csv;
    const std::string words =
        " is given, but format is " + format_name(collector.format) + "; must be left out (";
    if (collector.profile != unset.profile) {  // it has set some of the keys below
        section.demand("profile", false, words + "profiles are those of IPFIX collectors)");
        return;
    }
    section.demand("sampling", collector.sampling == unset.sampling,
                   words + "options records are of IPFIX alone)");
    section.demand("options", collector.options == unset.options,
                   words + "options records are of IPFIX alone)");
    section.demand("tcp-control-bits", collector.tcp_control_bits == unset.tcp_control_bits,
                   words + "it is of IPFIX alone)");
    const char* const columns = "its columns are always the same)";
    section.demand("timestamps", !is_csv || collector.timestamps == unset.timestamps,
                   words + columns);
    section.demand("cert-elements", !is_csv || !collector.cert_elements, words + columns);
}

void check_tls(const CollectorOptions& collector, const Section& section) {
    const TlsOptions& tls = collector.tls;
    const bool is_tls = collector.transport == TransportKind::tls;
    const char* const no_tls = " is given, but transport is not tls; must be left out";
    section.demand("tls.ca", is_tls || tls.ca.empty(), no_tls);
    section.demand("tls.certificate", is_tls || tls.certificate.empty(), no_tls);
    section.demand("tls.key", is_tls || tls.key.empty(), no_tls);
    section.demand("tls.name", is_tls || tls.name.empty(), no_tls);
    section.demand("tls.key", tls.certificate.empty() || !tls.key.empty(),
                   " is missing; must be the file of tls.certificate's private key");
    section.demand("tls.certificate", tls.key.empty() || !tls.certificate.empty(),
                   " is missing; must be the file of the certificate that tls.key belongs to");
}

void check_direction(const Config& config, const CollectorOptions& collector,
                     const Section& section) {
    const bool are_paired =
        config.flows.direction == FlowDirection::biflow || takes_biflows(config, collector);
    section.demand("direction", are_paired || collector.direction != FlowDirection::biflow,
                   " is biflow, but flows.direction is uniflow; must be uniflow or inherit (or "
                   "flows.direction biflow)");
}

void check_spool(const CollectorOptions& collector, ExportMode mode, const Section& section) {
    if (!collector.spool.is_on()) {
        section.demand("spool.max-size",
                       collector.spool.max_octets == CollectorOptions{}.spool.max_octets,
                       " is given, but spool.directory is not; must be left out (without a "
                       "directory there is no spool)");
        return;
    }
    const bool is_acknowledged = collector.transport == TransportKind::tcp ||
                                 collector.transport == TransportKind::tls ||
                                 collector.transport == TransportKind::kafka;
    section.demand("spool.directory", is_acknowledged,
                   " is given, but transport is none of tcp, tls and kafka; must be left out");
    section.demand("spool.max-size", collector.spool.max_octets >= 2 * collector.buffer,
                   " is " + std::to_string(collector.spool.max_octets) + ", but buffer is " +
                       std::to_string(collector.buffer) + "; must be at least twice as much");
    section.demand("spool.directory", mode != ExportMode::failover,
                   " is given, but export.mode is failover; must be left out (the collectors have "
                   "one in common: export.spool)");
}

/// The spool of mode failover.
void check_group_spool(const ExportOptions& options, const Section& section) {
    const SpoolOptions& spool = options.spool;
    if (!spool.is_on()) {
        section.demand("spool.max-size", spool.max_octets == SpoolOptions{}.max_octets,
                       " is given, but spool.directory is not; must be left out (without a "
                       "directory there is no spool)");
        return;
    }
    section.demand("spool.directory", options.mode == ExportMode::failover,
                   " is given, but export.mode is not failover; must be left out (or mode "
                   "failover; a collector may have a spool of its own)");
    std::size_t buffer = 0;  // the largest
    for (const CollectorOptions& collector : options.collectors) {
        buffer = std::max(buffer, collector.buffer);
    }
    section.demand("spool.max-size", spool.max_octets >= 2 * buffer,
                   " is " + std::to_string(spool.max_octets) + ", but a collector's buffer is " +
                       std::to_string(buffer) + "; must be at least twice as much");
}

/// A file must hold the templates and one message; this size is of practical use.
constexpr std::uint64_t kSmallestFile = std::uint64_t{1} << 20U;

void check_rotation(const CollectorOptions& collector, const Section& section) {
    const FileRotation& rotation = collector.rotation;
    const bool is_file = collector.transport == TransportKind::file;
    const char* const no_file = " is given, but transport is not file; must be left out";
    section.demand("rotation.size", is_file || rotation.octets == 0, no_file);
    section.demand("rotation.interval", is_file || rotation.interval.count() == 0, no_file);
    section.demand("rotation.size", rotation.octets == 0 || rotation.octets >= kSmallestFile,
                   " is " + std::to_string(rotation.octets) + "; must be 0 or at least " +
                       std::to_string(kSmallestFile));
    const char* const no_rotation =
        " is given, but neither rotation.size nor rotation.interval; must be left out (only "
        "rotation finishes files)";
    section.demand("rotation.fsync", rotation.is_on() || !rotation.sync, no_rotation);
    section.demand("rotation.command", rotation.is_on() || rotation.command.empty(), no_rotation);
}

/// @return  4 or 6; nullopt: not an address
int ip_version(const std::string& text) {
    const bool is_address = !text.empty() && is_ip_address_or_empty(text);
    return !is_address ? 0 : text.find(':') == std::string::npos ? 4 : 6;
}

void check_source_address(const CollectorOptions& collector, const Section& section) {
    const int host = ip_version(collector.host);
    const int source = ip_version(collector.source_address);
    section.demand("source-address", host == 0 || source == 0 || host == source,
                   " is " + shown(collector.source_address) + ", but host is " +
                       shown(collector.host) + "; must be of the same IP version");
}

/// The templates of biflows are twice as long; a template longer than a message cannot be sent.
void check_mtu(const CollectorOptions& collector, const FlowCacheOptions& flows,
               const Section& section) {
    const std::uint16_t least = flows.tcp_analysis ? 832 : 576;
    const bool is_udp = collector.transport == TransportKind::udp;
    section.demand("mtu", is_udp || collector.mtu == CollectorOptions{}.mtu,
                   " is given, but transport is not udp; must be left out (a stream has no "
                   "datagrams)");
    const bool is_limited = is_udp && flows.direction == FlowDirection::biflow;
    section.demand("mtu", !is_limited || collector.mtu >= least,
                   " is " + std::to_string(collector.mtu) + ", but flows.direction is biflow" +
                       (flows.tcp_analysis ? " and flows.tcp-analysis true" : "") +
                       "; must be at least " + std::to_string(least) +
                       " (templates of biflows are long)");
}

/// A template or a record that is longer than a message cannot be sent.
void check_mtu_of_table(const Config& config, const CollectorOptions& collector,
                        const TableDeclaration& table, const CompiledTable& compiled,
                        const Section& section) {
    const std::size_t least = least_message(config, collector, compiled);
    section.demand("mtu", collector.transport != TransportKind::udp || collector.mtu >= least,
                   " is " + std::to_string(collector.mtu) + ", but tables has " + table.name +
                       "; must be at least " + std::to_string(least) +
                       " (its templates and records are long)");
}

/// Without an element of the key, records of different flows look alike.
void check_own_elements(const CollectorOptions& collector, const TableDeclaration& table,
                        const CompiledTable& compiled, const Section& section) {
    const std::vector<std::string> own = own_elements(compiled, true);
    section.demand("tables", collector.enterprise_elements || own.empty(),
                   " has " + table.name + ", whose key has " + listed(own) +
                       ", but enterprise-elements is false; must be without this table, or "
                       "enterprise-elements true (its flows could not be told apart without " +
                       (own.size() == 1 ? "this element)" : "these elements)"));
}

void check_segmentation(const CollectorOptions& collector, const Section& section) {
    section.demand("udp-segmentation",
                   collector.transport == TransportKind::udp || !collector.udp_segmentation,
                   " is true, but transport is not udp; must be left out (a stream has no "
                   "datagrams)");
}

void check_rate(const CollectorOptions& collector, const Section& section) {
    constexpr std::uint64_t kSlowest = 1000;
    section.demand("rate", collector.transport == TransportKind::udp || !collector.rate,
                   " is given, but transport is not udp; must be left out (a stream's collector "
                   "takes what it can)");
    const std::uint64_t rate = collector.rate.value_or(0);
    section.demand("rate", rate == 0 || rate >= kSlowest,
                   " is " + std::to_string(rate) + "; must be auto, 0 or at least " +
                       std::to_string(kSlowest));
}

/// Which formats have a place for what a declared table has.
void check_format_of_tables(const CollectorOptions& collector, const Section& section) {
    const auto declared = std::ranges::find_if(
        collector.tables, [](const std::string& name) { return name != kMainTable; });
    const bool has_place = collector.format != RecordFormatKind::csv &&
                           collector.format != RecordFormatKind::flowmessage;
    if (has_place || declared == collector.tables.end()) {
        return;
    }
    const bool is_kafka = collector.transport == TransportKind::kafka;
    section.demand("tables", false,
                   " has " + *declared + ", but format is " + format_name(collector.format) +
                       "; must be main alone (or format " +
                       (is_kafka ? "json, rawflow or ipfix" : "json or ipfix") +
                       ": what a declared table has is in neither csv nor flowmessage, whose "
                       "fields are always the same)");
}

/// A name of a table that the configuration does not have.
void check_name_of_table(const Config& config, const std::string& name, const Section& section) {
    std::vector<std::string> names{std::string(kMainTable)};
    for (const TableDeclaration& table : config.tables) {
        names.push_back(table.name);
    }
    const std::string like = closest(name, names);
    section.demand("tables", std::ranges::find(names, name) != names.end(),
                   " has " + name + ", but there is no such table; must be names of tables (" +
                       listed(names) + ")" + (like.empty() ? "" : "; did you mean " + like + "?"));
}

/// Each table is one of the configuration, and can go to the collector.
void check_tables_of(const Config& config, const CollectorOptions& collector,
                     const Section& section) {
    for (const std::string& name : collector.tables) {
        check_name_of_table(config, name, section);
    }
    check_format_of_tables(collector, section);
    for (const TableDeclaration& table : declared_tables_of(config, collector)) {
        if (const auto compiled = compile_if_good(config, table)) {
            check_own_elements(collector, table, *compiled, section);
            check_mtu_of_table(config, collector, table, *compiled, section);
        }
    }
}

/// Where a collector's records go, for messages.
std::string place_of_collector(const CollectorOptions& collector) {
    std::error_code unknown;  // without a working directory the path stays as it is
    switch (collector.transport) {
        case TransportKind::kafka:
            return collector.kafka.brokers + ", topic " + collector.kafka.topic;
        case TransportKind::file:
            return std::filesystem::absolute(collector.path, unknown).lexically_normal().string();
        case TransportKind::udp:
            return collector.host + ", port " + std::to_string(collector.port) + ", udp";
        case TransportKind::tcp:
            return collector.host + ", port " + std::to_string(collector.port) + ", tcp";
        case TransportKind::tls:
            break;
    }
    return collector.host + ", port " + std::to_string(collector.port) + ", tls";
}

bool are_at_one_port(const CollectorOptions& a, const CollectorOptions& b) {
    const bool are_by_udp = a.transport == TransportKind::udp && b.transport == TransportKind::udp;
    const bool are_by_tcp = a.transport != TransportKind::udp && b.transport != TransportKind::udp;
    return a.host == b.host && a.port == b.port && (are_by_udp || are_by_tcp);
}

/// Whether they are of one cluster: a broker belongs to no other one.
bool have_common_broker(const KafkaOptions& a, const KafkaOptions& b) {
    const std::set<std::string> brokers = brokers_in(a.brokers);
    return std::ranges::any_of(brokers_in(b.brokers), [&brokers](const std::string& broker) {
        return brokers.contains(broker);
    });
}

/// Whether records go to one place by two collectors.
bool are_at_one_place(const CollectorOptions& a, const CollectorOptions& b) {
    const auto has_host = [](TransportKind kind) {
        return kind != TransportKind::file && kind != TransportKind::kafka;
    };
    if (has_host(a.transport) && has_host(b.transport)) {
        return are_at_one_port(a, b);
    }
    if (a.transport != b.transport) {
        return false;
    }
    return a.transport == TransportKind::file
               ? have_one_target(a.path, b.path)
               : a.kafka.topic == b.kafka.topic && have_common_broker(a.kafka, b.kafka);
}

/// Checks one collector without the others.
void check_alone(const Config& config, std::size_t index, const Section& section,
                 const Faults& faults) {
    const CollectorOptions& collector = config.export_.collectors[index];
    check_place(collector, section);
    check_format(collector, config.export_.probe, section);
    check_source_address(collector, section);
    check_rotation(collector, section);
    check_tls(collector, section);
    check_spool(collector, config.export_.mode, section);
    check_rate(collector, section);
    if (!faults.is_unread("tables") && !faults.is_unread("fields")) {
        check_tables_of(config, collector, section);
    }
    if (!faults.is_unread("flows") && !faults.is_unread("export.fields") &&
        !faults.is_unread("tables") && !faults.is_unread("fields")) {
        check_key_field(config, collector, section);
    }
    if (!faults.is_unread("flows.direction") && !faults.is_unread("flows.tcp-analysis")) {
        check_direction(config, collector, section);
        check_mtu(collector, config.flows, section);
        check_segmentation(collector, section);
    }
}

/// Whether it has an address or path; another check requires one.
bool has_place(const CollectorOptions& collector) {
    switch (collector.transport) {
        case TransportKind::file:
            return !collector.path.empty();
        case TransportKind::kafka:
            return !collector.kafka.brokers.empty() && !collector.kafka.topic.empty();
        default:
            return !collector.host.empty();
    }
}

void check_count(std::size_t collectors, const YamlNode& root) {
    const std::string list = "export.collectors";
    if (collectors == 0) {
        refuse(place_of(root, list),
               list + " is empty; must have one item (such as {host: 192.0.2.1})");
    }
    if (collectors > kMostCollectors) {
        refuse(place_of(root, list), list + " has " + std::to_string(collectors) +
                                         " items; must have at most " +
                                         std::to_string(kMostCollectors));
    }
}

void check_spool_of_its_own(const std::vector<CollectorOptions>& collectors, std::size_t index,
                            const YamlNode& root) {
    const SpoolOptions& own = collectors[index].spool;
    for (std::size_t other = 0; other < index; ++other) {
        const SpoolOptions& others = collectors[other].spool;
        if (own.is_on() && others.is_on() && have_one_target(own.directory, others.directory)) {
            const std::string path = "export.collectors." + std::to_string(index) + ".spool";
            refuse(place_of(root, path + ".directory"),
                   path + ".directory is that of export.collectors." + std::to_string(other) +
                       " too; must be a directory of its own");
        }
    }
}

void check_place_of_its_own(const std::vector<CollectorOptions>& collectors, std::size_t index,
                            const YamlNode& root) {
    const CollectorOptions& collector = collectors[index];
    if (!has_place(collector)) {
        return;
    }
    for (std::size_t other = 0; other < index; ++other) {
        if (has_place(collectors[other]) && are_at_one_place(collectors[other], collector)) {
            const std::string at = "export.collectors." + std::to_string(index);
            refuse(place_of(root, at), at + " is at " + shown(place_of_collector(collector)) +
                                           "; must differ from export.collectors." +
                                           std::to_string(other) +
                                           " (it would get its records twice)");
        }
    }
}

/// With failover each record must be able to go to each collector.
void check_same_tables(const ExportOptions& options, std::size_t index, const YamlNode& root) {
    const std::vector<std::string>& own = options.collectors[index].tables;
    const std::vector<std::string>& first = options.collectors.front().tables;
    const auto is_own = [&own](const std::string& name) {
        return std::ranges::find(own, name) != own.end();
    };
    // Neither has a name twice.
    if (options.mode != ExportMode::failover ||
        (own.size() == first.size() && std::ranges::all_of(first, is_own))) {
        return;
    }
    const std::string path = "export.collectors." + std::to_string(index) + ".tables";
    refuse(place_of(root, path), path + " has " + listed(own) +
                                     ", but export.mode is failover, and "
                                     "export.collectors.0.tables has " +
                                     listed(first) +
                                     "; must be the same (each record can come to each collector)");
}

}  // namespace

void check_collectors(const Config& config, const YamlNode& root, Faults& faults) {
    const std::vector<CollectorOptions>& collectors = config.export_.collectors;
    faults.among("export.collectors", [&] { check_count(collectors.size(), root); });
    check_group_spool(config.export_, Section(root, "export", faults));
    for (std::size_t i = 0; i < collectors.size(); ++i) {
        const std::string at = "export.collectors." + std::to_string(i);
        check_alone(config, i, Section(root, at, faults), faults);
        faults.among("export.collectors", [&] { check_same_tables(config.export_, i, root); });
        faults.among(at, [&] { check_spool_of_its_own(collectors, i, root); });
        faults.among(at, [&] { check_place_of_its_own(collectors, i, root); });
    }
}

}  // namespace tributary
