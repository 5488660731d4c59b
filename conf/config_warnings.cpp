// SPDX-License-Identifier: Apache-2.0
#include "conf/config_warnings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "conf/collector_profiles.hpp"
#include "conf/recorder_keys.hpp"
#include "conf/table_warnings.hpp"
#include "export/ipfix/named_field.hpp"
#include "flowcache/table/closest.hpp"

namespace tributary {
namespace {

using Warnings = std::vector<std::string>;

bool is_sampled(const Config& config) {
    return config.read.sampling > 1 ||
           std::any_of(config.inputs.begin(), config.inputs.end(),
                       [](const InputOptions& input) { return input.sampling > 1; });
}

void warn_of_records(const Config& config, Warnings& warnings) {
    if (config.export_.fields.has<TunnelGroup>() && config.flows.tunnel == TunnelMode::outer) {
        warnings.emplace_back(
            "export.fields has tunnel, but flows.tunnel is outer: records tell no tunnels then");
    }
    if (config.export_.fields.has<TcpAnalysisGroup>() && !config.flows.tcp_analysis) {
        warnings.emplace_back(
            "export.fields has tcp-analysis or elements of it, but flows.tcp-analysis is false: "
            "records do not have them then");
    }
    if (config.flows.tcp_analysis && is_sampled(config)) {
        warnings.emplace_back(
            "flows.tcp-analysis is true, but packets are sampled: what is passed over leaves "
            "holes, and what comes again is mostly not seen twice");
    }
}

void warn_of_parted_fragments(const Config& config, Warnings& warnings) {
    for (const InputOptions& input : config.inputs) {
        if (config.flows.fragments == FragmentMode::track && input.queues > 1 &&
            input.rss == RssMode::ip_and_l4) {
            warnings.push_back("input " + input.name +
                               ": flows.fragments is track, but rss is ip-and-l4: fragments may "
                               "reach another queue than their first one, and have ports 0 then; "
                               "rss: ip keeps them together");
        }
    }
}

/// Warns of a key without effect, because its feature is off.
void warn_of_idle_key(bool is_idle, const std::string& key, const char* because,
                      Warnings& warnings) {
    if (is_idle) {
        warnings.push_back(key + " is given, but " + because + ": it has no effect then");
    }
}

void warn_of_idle_flow_keys(const FlowCacheOptions& flows, Warnings& warnings) {
    if (flows.idle_timeout > flows.active_timeout) {
        warnings.emplace_back(
            "flows.idle-timeout is longer than flows.active-timeout: no record ends by it");
    }
    const FlowCacheOptions defaults;
    if (flows.tcp_end && flows.tcp_end_timeout > flows.idle_timeout &&
        flows.tcp_end_timeout != defaults.tcp_end_timeout) {
        warnings.emplace_back(
            "flows.tcp-end-timeout is longer than flows.idle-timeout, which holds then");
    }
    warn_of_idle_key(flows.tunnel == TunnelMode::outer && !flows.mpls_pseudowires &&
                         flows.mac_addresses != defaults.mac_addresses,
                     "flows.mac-addresses",
                     "flows.tunnel is outer and flows.mpls-pseudowires is false", warnings);
    warn_of_idle_key(flows.fragments != FragmentMode::track &&
                         flows.fragment_timeout != defaults.fragment_timeout,
                     "flows.fragment-timeout", "flows.fragments is zero", warnings);
    warn_of_idle_key(!flows.tcp_end && flows.tcp_end_timeout != defaults.tcp_end_timeout,
                     "flows.tcp-end-timeout", "flows.tcp-end is false", warnings);
    warn_of_idle_key(!flows.tcp_analysis && flows.tcp_duplicate_time != defaults.tcp_duplicate_time,
                     "flows.tcp-duplicate-time", "flows.tcp-analysis is false", warnings);
    warn_of_idle_key(
        !flows.tcp_analysis && flows.tcp_retransmission_time != defaults.tcp_retransmission_time,
        "flows.tcp-retransmission-time", "flows.tcp-analysis is false", warnings);
}

/// @param options  of an input, or of `read`
/// @param section  its path in the configuration
template <class Options>
void warn_of_idle_packet_keys(const Options& options, const std::string& section,
                              Warnings& warnings) {
    const Options defaults;
    const bool is_trimmed = options.parse == ParseMode::trimmed;
    warn_of_idle_key(!is_trimmed && options.trim_length != defaults.trim_length,
                     section + ".trim-length", "parse is not trimmed", warnings);
    if constexpr (requires { options.trimmed_by; }) {
        warn_of_idle_key(!is_trimmed && options.trimmed_by != defaults.trimmed_by,
                         section + ".trimmed-by", "parse is not trimmed", warnings);
    }
    warn_of_idle_key(options.sampling == 1 && options.sampling_method != defaults.sampling_method,
                     section + ".sampling-method", "sampling is 1", warnings);
}

/// The value of librdkafka's property; empty: it is not given.
std::string value_of(const KafkaOptions& kafka, const std::string& property) {
    const auto found = kafka.properties.find(property);
    return found == kafka.properties.end() ? std::string() : in_small_letters(found->second);
}

/// Warns of acknowledgements that come before all replicas have a record.
void warn_of_acks(const KafkaOptions& kafka, const std::string& properties,
                  const std::string& property, Warnings& warnings) {
    const std::string acks = value_of(kafka, property);
    if (!acks.empty() && acks != "all" && acks != "-1") {
        warnings.push_back(properties + " has " + property + " " + acks +
                           ": records count as exported before all replicas have them, so that "
                           "the topic may hold less than exported");
    }
}

/// Warns of properties with which a topic's messages and the account differ.
void warn_of_weak_delivery(const KafkaOptions& kafka, const std::string& properties,
                           Warnings& warnings) {
    const std::string idempotence = value_of(kafka, "enable.idempotence");
    if (idempotence != "false" && idempotence != "f" && idempotence != "0") {
        return;  // librdkafka refuses other acknowledgements then
    }
    warnings.push_back(properties +
                       " has enable.idempotence false: messages may be in the topic twice, and in "
                       "another order, so that it may hold more than exported and unconfirmed; "
                       "numbers tell (docs/export.md)");
    warn_of_acks(kafka, properties, "acks", warnings);
    warn_of_acks(kafka, properties, "request.required.acks", warnings);
}

/// Warns of a key that is the address of one IP version.
void warn_of_one_version(const std::string& element, const std::string& key, Warnings& warnings) {
    if (const std::string both = name_of_both(element); !both.empty()) {
        warnings.push_back(key + " is " + element +
                           ": records of the other IP version have no key; " + both +
                           " is of both");
    }
}

/// Warns of keys of a collector for which its format has no place.
void warn_of_idle_format_keys(const CollectorOptions& collector, const std::string& section,
                              Warnings& warnings) {
    const CollectorOptions unset;
    const bool is_csv = collector.format == RecordFormatKind::csv;
    const char* const of_csv = "format is csv, whose columns are always the same";
    warn_of_idle_key(is_csv && collector.observation_domain.has_value(),
                     section + ".observation-domain", of_csv, warnings);
    warn_of_idle_key(is_csv && collector.enterprise_elements != unset.enterprise_elements,
                     section + ".enterprise-elements", of_csv, warnings);
    const bool is_flow_message = collector.format == RecordFormatKind::flowmessage;
    const char* const of_message = "format is flowmessage, whose fields are always the same";
    warn_of_idle_key(is_flow_message && collector.timestamps.has_value(), section + ".timestamps",
                     of_message, warnings);
    warn_of_idle_key(is_flow_message && collector.cert_elements, section + ".cert-elements",
                     of_message, warnings);
}

/// Whether records of this format say which probe they are of.
bool names_probe(RecordFormatKind format) {
    return format != RecordFormatKind::ipfix && format != RecordFormatKind::csv;
}

/// Warns of keys of the export that are in no collector's records.
void warn_of_idle_export_keys(const ExportOptions& options, Warnings& warnings) {
    const auto none_is = [&options](auto is_it) {
        return !options.collectors.empty() && std::ranges::none_of(options.collectors, is_it);
    };
    const ProbeIdentity none;
    warn_of_idle_key(
        options.probe != none &&
            none_is([](const CollectorOptions& each) { return names_probe(each.format); }),
        "export.probe", "no collector has format json, flowmessage or rawflow", warnings);
    warn_of_idle_key(options.observation_domain != ExportOptions{}.observation_domain &&
                         none_is([](const CollectorOptions& each) {
                             return each.format != RecordFormatKind::csv;
                         }),
                     "export.observation-domain",
                     "the format of all collectors is csv, whose columns are always the same",
                     warnings);
}

/// Warns of properties for a protocol that is not chosen.
void warn_of_idle_properties(const KafkaOptions& kafka, const std::string& properties,
                             Warnings& warnings) {
    const std::string given = value_of(kafka, "security.protocol");
    const std::string protocol = given.empty() ? "plaintext" : given;
    const auto first_with = [&kafka](std::string_view front) {
        const auto found = std::ranges::find_if(
            kafka.properties, [front](const auto& each) { return each.first.starts_with(front); });
        return found == kafka.properties.end() ? std::string() : found->first;
    };
    const std::string because = "security.protocol is " + protocol;
    const std::string of_sasl = first_with("sasl.");
    const std::string of_tls = first_with("ssl.");
    warn_of_idle_key(!of_sasl.empty() && !protocol.starts_with("sasl_"), properties + "." + of_sasl,
                     because.c_str(), warnings);
    warn_of_idle_key(!of_tls.empty() && !protocol.ends_with("ssl"), properties + "." + of_tls,
                     because.c_str(), warnings);
}

/// Warns of properties about what librdkafka would log or measure: the probe logs its errors alone.
void warn_of_unread_properties(const KafkaOptions& kafka, const std::string& properties,
                               Warnings& warnings) {
    static constexpr std::array kOfLog{"debug", "log_level", "log.thread.name",
                                       "log.connection.close"};
    for (const char* const property : kOfLog) {
        warn_of_idle_key(kafka.properties.contains(property), properties + "." + property,
                         "the probe reads no log lines of librdkafka", warnings);
    }
    warn_of_idle_key(kafka.properties.contains("statistics.interval.ms"),
                     properties + ".statistics.interval.ms",
                     "the probe reads no statistics of librdkafka", warnings);
}

void warn_of_collectors(const Config& config, Warnings& warnings) {
    const std::vector<CollectorOptions>& collectors = config.export_.collectors;
    for (std::size_t i = 0; i < collectors.size(); ++i) {
        const std::string section = "export.collectors." + std::to_string(i);
        warn_of_idle_format_keys(collectors[i], section, warnings);
        warn_of_idle_properties(collectors[i].kafka, section + ".properties", warnings);
        warn_of_unread_properties(collectors[i].kafka, section + ".properties", warnings);
        warn_of_weak_delivery(collectors[i].kafka, section + ".properties", warnings);
        warn_of_one_version(collectors[i].kafka.key_field, section + ".key", warnings);
    }
}

}  // namespace

std::vector<std::string> warnings_about(const Config& config) {
    Warnings warnings;
    warn_of_records(config, warnings);
    warn_of_parted_fragments(config, warnings);
    warn_of_idle_flow_keys(config.flows, warnings);
    for (std::size_t i = 0; i < config.inputs.size(); ++i) {
        warn_of_idle_packet_keys(config.inputs[i], "inputs." + std::to_string(i), warnings);
    }
    warn_of_idle_packet_keys(config.read, "read", warnings);
    warn_of_idle_export_keys(config.export_, warnings);
    warn_of_collectors(config, warnings);
    std::ranges::move(profile_warnings(config), std::back_inserter(warnings));
    std::ranges::move(table_warnings(config), std::back_inserter(warnings));
    std::ranges::move(recorder_warnings(config), std::back_inserter(warnings));
    return warnings;
}

}  // namespace tributary
