// SPDX-License-Identifier: Apache-2.0
#include "conf/kafka_keys.hpp"

#include <algorithm>
#include <array>
#include <map>
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
        .advice = rule.advice};
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

/// Properties that keys of their own set, and those that the probe relies on.
bool is_set_here(std::string_view property) {
    static constexpr std::array<std::string_view, 6> kSet{
        "bootstrap.servers", "metadata.broker.list",      "compression.type", "compression.codec",
        "log.queue",         "delivery.report.only.error"};
    return std::ranges::find(kSet, property) != kSet.end();
}

/// @return  false: it is no map of texts, or not all of their names are good
bool read_texts(const YamlNode& node, bool (*is_good)(std::string_view name), Texts& texts) {
    Texts read;
    for (const YamlEntry& entry : node.entries) {
        if (!is_scalar(entry.value) || !is_good(entry.key) ||
            !is_printable(entry.value.text, kLongestText)) {
            return false;
        }
        read.emplace(entry.key, entry.value.text);
    }
    texts = std::move(read);
    return node.kind == YamlNode::Kind::map;
}

/// A rule for a map of texts. It refuses a name for which `is_good` is false.
Rule<KafkaOptions> texts(Texts KafkaOptions::*member, const std::string& limits,
                         bool (*is_good)(std::string_view name)) {
    return {.limits = limits,
            .accept = [=](const YamlNode& node,
                          KafkaOptions& kafka) { return read_texts(node, is_good, kafka.*member); },
            .yaml =
                [=](const KafkaOptions& kafka) {
                    std::string text;
                    for (const auto& [name, value] : kafka.*member) {
                        text += (text.empty() ? "" : ", ") + name + ": " + quoted(value);
                    }
                    return "{" + text + "}";
                }};
}

bool is_open_property(std::string_view name) {
    return !name.empty() && !is_secret(name) && !is_set_here(name);
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
    const Rule<KafkaOptions> of_words = choice(&KafkaOptions::key, key_words());
    return {.limits = "flow, none or the name of an element",
            .accept = accept_key,
            .yaml =
                [of_words](const KafkaOptions& kafka) {
                    return kafka.key == KafkaKey::field ? kafka.key_field : of_words.yaml(kafka);
                },
            .hint =
                [](std::string_view text) {
                    std::vector<std::string> names = field_names();
                    for (const Word<KafkaKey>& word : key_words()) {
                        names.emplace_back(word.text);
                    }
                    return closest(text, names);
                }};
}

}  // namespace

std::vector<Key<CollectorOptions>> kafka_keys() {
    using O = KafkaOptions;
    return {
        value(
            "brokers",
            of_kafka(text(&O::brokers, "HOST:PORT, HOST:PORT,HOST:PORT or \"\"", is_word_or_empty)),
            "some brokers of the cluster, for transport kafka"),
        value("topic", of_kafka(text(&O::topic, "the name of a topic or \"\"", is_word_or_empty)),
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
                             "those that have keys of their own, log.queue and "
                             "delivery.report.only.error",
                             is_open_property)),
              "librdkafka's properties, for kafka, such as security.protocol or "
              "message.timeout.ms"),
        value("secrets",
              of_kafka(texts(&O::secrets,
                             "a map of librdkafka's secret properties (such as sasl.password) and "
                             "the paths of files",
                             is_secret)),
              "for kafka, librdkafka's properties whose values are secrets: each in a file of its "
              "own, which is read when a producer begins (docs/export.md); a line end behind it "
              "does not count"),
    };
}

}  // namespace tributary
