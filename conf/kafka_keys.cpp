// SPDX-License-Identifier: Apache-2.0
#include "conf/kafka_keys.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "conf/rules.hpp"
#include "export/ipfix/named_field.hpp"

namespace tributary {
namespace {

using Texts = std::map<std::string, std::string>;

/// A rule for a member of KafkaOptions.
Rule<CollectorOptions> of_kafka(const Rule<KafkaOptions>& rule) {
    return {
        .limits = rule.limits,
        .accept = [rule](
                      const YamlNode& node,
                      CollectorOptions& collector) { return rule.accept(node, collector.kafka); },
        .yaml = [rule](const CollectorOptions& collector) { return rule.yaml(collector.kafka); },
        .hint = rule.hint,
        .advice = rule.advice,
        .entry_fault = rule.entry_fault};
}

/// librdkafka's properties whose values are secrets.
bool is_secret(std::string_view property) {
    static constexpr std::array<std::string_view, 8> kSecrets{"sasl.password",
                                                              "ssl.key.password",
                                                              "ssl.key.pem",
                                                              "ssl.keystore.password",
                                                              "sasl.oauthbearer.config",
                                                              "sasl.oauthbearer.client.secret",
                                                              "ssl_key",
                                                              "sasl.kerberos.kinit.cmd"};
    return std::ranges::find(kSecrets, property) != kSecrets.end();
}

/// A property that `properties` must not have, and why.
struct TakenProperty {
    std::string_view name;
    std::string_view words;  ///< follows its path
};

/// Properties that keys of their own set, and those that the probe relies on.
constexpr std::array kTakenProperties{
    TakenProperty{"bootstrap.servers", " has a key of its own: brokers"},
    TakenProperty{"metadata.broker.list", " has a key of its own: brokers"},
    TakenProperty{"compression.type", " has a key of its own: compression"},
    TakenProperty{"compression.codec", " has a key of its own: compression"},
    TakenProperty{"partitioner", " has a key of its own: key"},
    TakenProperty{"transactional.id",
                  " must be left out (the probe begins no transactions, without "
                  "which such a producer sends nothing)"},
    TakenProperty{"enabled_events", " must be left out (the probe relies on its value)"},
    TakenProperty{"log.queue", " must be left out (the probe relies on its value)"},
    TakenProperty{"delivery.report.only.error",
                  " must be left out (the probe relies on its value)"}};

/// Why `properties` must not have a property; "": it may.
std::string_view fault_of_property(std::string_view name) {
    if (is_secret(name)) {
        return " is a secret: it belongs in secrets, with the path of a file that has the value";
    }
    const auto* const taken = std::ranges::find(kTakenProperties, name, &TakenProperty::name);
    const std::string_view unnamed = name.empty() ? " is no name of a property" : "";
    return taken == kTakenProperties.end() ? unnamed : taken->words;
}

/// The same for `secrets`.
std::string_view fault_of_secret(std::string_view name) {
    return is_secret(name) ? "" : " is no secret property of librdkafka; it belongs in properties";
}

/// What is wrong with a value, which may be a secret; "": nothing.
std::string fault_of_text(const YamlNode& value) {
    if (!is_scalar(value)) {
        return std::string(value.kind == YamlNode::Kind::null ? " has no value" : " is no text") +
               "; must be text";
    }
    const std::string fault = unprintable_in(value.text, kLongestText);
    return fault.empty() ? "" : " cannot be used: " + fault;
}

/// Why a map must not have a name; "": it may.
using NameFault = std::string_view (*)(std::string_view name);

std::optional<EntryFault> fault_in(const YamlNode& node, NameFault fault_of_name) {
    if (node.kind != YamlNode::Kind::map) {
        return std::nullopt;
    }
    for (const YamlEntry& entry : node.entries) {
        const std::string_view of_name = fault_of_name(entry.key);
        std::string words = of_name.empty() ? fault_of_text(entry.value) : std::string(of_name);
        if (!words.empty()) {
            return EntryFault{.entry = &entry, .words = std::move(words)};
        }
    }
    return std::nullopt;
}

/// A rule for a map of texts. It refuses a name that has a fault.
Rule<KafkaOptions> texts(Texts KafkaOptions::*member, const std::string& limits,
                         NameFault fault_of_name) {
    return {.limits = limits,
            .accept =
                [=](const YamlNode& node, KafkaOptions& kafka) {
                    if (node.kind != YamlNode::Kind::map || fault_in(node, fault_of_name)) {
                        return false;
                    }
                    (kafka.*member).clear();
                    for (const YamlEntry& entry : node.entries) {
                        (kafka.*member).emplace(entry.key, entry.value.text);
                    }
                    return true;
                },
            .yaml =
                [=](const KafkaOptions& kafka) {
                    std::string text;
                    for (const auto& [name, value] : kafka.*member) {
                        text += (text.empty() ? "" : ", ") + name + ": " + quoted(value);
                    }
                    return "{" + text + "}";
                },
            .entry_fault = [=](const YamlNode& node) { return fault_in(node, fault_of_name); }};
}

Rule<KafkaOptions> broker_list() {
    auto rule = text(&KafkaOptions::brokers,
                     "HOST:PORT, HOST or [IPV6]:PORT, several with commas between them, or \"\"",
                     is_broker_list_or_empty);
    rule.hint = broker_list_like;
    rule.advice = [](std::string_view text) {
        const std::string fault = unprintable_in(text, kLongestText);
        return fault.empty() ? advice_on_brokers(text) : fault;
    };
    return rule;
}

const std::vector<Word<KafkaKey>>& key_words() {
    static const std::vector<Word<KafkaKey>> words{{"flow", KafkaKey::flow},
                                                   {"none", KafkaKey::none}};
    return words;
}

bool accept_key(const YamlNode& node, KafkaOptions& kafka) {
    if (const auto* const word = find_word(key_words(), node.text)) {
        kafka.key = word->meaning;
        kafka.key_field.clear();
        return is_scalar(node);
    }
    kafka.key = KafkaKey::field;
    kafka.key_field = node.text;
    return is_scalar(node) && std::ranges::binary_search(field_names(), node.text);
}

/// The words, or the name of an element.
Rule<KafkaOptions> message_key() {
    return {.limits = "flow, none or the name of an element",
            .accept = accept_key,
            .yaml = key_name,
            .hint = [](std::string_view text) {
                std::vector<std::string> names = field_names();
                for (const Word<KafkaKey>& word : key_words()) {
                    names.emplace_back(word.text);
                }
                return closest(text, names);
            }};
}

}  // namespace

std::string key_name(const KafkaOptions& kafka) {
    return kafka.key == KafkaKey::field
               ? kafka.key_field
               : std::string(
                     std::ranges::find(key_words(), kafka.key, &Word<KafkaKey>::meaning)->text);
}

std::vector<Key<CollectorOptions>> kafka_keys() {
    using O = KafkaOptions;
    return {
        value("brokers", of_kafka(broker_list()),
              "some brokers of the cluster, for transport kafka; without a port it is 9092"),
        value("topic",
              of_kafka(text(&O::topic,
                            "at most 249 letters, digits, dots, underscores and hyphens, neither . "
                            "nor .., or \"\"",
                            is_topic_or_empty)),
              "the topic that records go to, for kafka; the probe does not create it"),
        value("key", of_kafka(message_key()),
              "for kafka: flow: all records of a flow, of both directions, go to one partition, in "
              "order; none: records go to the partitions in turn; an element of flow records "
              "(docs/fields.md), or "
              "sourceIPAddress and the like for both IP versions: its value is the key of a "
              "message, and records with the same key go to one partition, in order, for json and "
              "flowmessage"),
        value("delimited", of_kafka(flag(&O::delimited)),
              "for kafka with format flowmessage: each message has its length in front, as those "
              "that goflow2 sends, and ClickHouse's format Protobuf reads; false: it is bare, for "
              "ProtobufSingle"),
        value("compression",
              of_kafka(choice(&O::compression, {{"none", std::string("none")},
                                                {"gzip", std::string("gzip")},
                                                {"snappy", std::string("snappy")},
                                                {"lz4", std::string("lz4")},
                                                {"zstd", std::string("zstd")}})),
              "compression of batches, for kafka"),
        value("properties",
              of_kafka(texts(&O::properties,
                             "a map of librdkafka's properties and their values, without secrets, "
                             "those that have keys of their own, and transactional.id, "
                             "enabled_events, log.queue and delivery.report.only.error",
                             fault_of_property)),
              "librdkafka's properties, for kafka, such as security.protocol or "
              "message.timeout.ms"),
        value("secrets",
              of_kafka(texts(&O::secrets,
                             "a map of librdkafka's secret properties (such as sasl.password) and "
                             "the paths of files",
                             fault_of_secret)),
              "for kafka, librdkafka's properties whose values are secrets: each in a file of its "
              "own, which is read when a producer begins (docs/export.md); a line end behind it "
              "does not count"),
    };
}

}  // namespace tributary
