// SPDX-License-Identifier: Apache-2.0
#include "conf/export_keys.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conf/collector_profiles.hpp"
#include "conf/faults.hpp"
#include "conf/kafka_keys.hpp"
#include "conf/rules.hpp"
#include "conf/yaml_tree.hpp"
#include "flowcache/table/table_declaration.hpp"

namespace tributary {
namespace {

using std::chrono::milliseconds;

template <class Owner>
Rule<Owner> timestamp_unit(TimestampUnit Owner::*member) {
    return choice(member, {{"milliseconds", TimestampUnit::milliseconds},
                           {"microseconds", TimestampUnit::microseconds},
                           {"nanoseconds", TimestampUnit::nanoseconds}});
}

std::vector<Key<FileRotation>> rotation_keys() {
    using O = FileRotation;
    return {
        value("size", whole_number(&O::octets, 0, std::uint64_t{1} << 44U),
              "octets after which the next file begins, at least 1048576; 0: never"),
        value("interval", whole_seconds(&O::interval, 0, kLongestTimeout),
              "seconds after which the next file begins; 0: never"),
        value("fsync", flag(&O::sync), "finished files are forced to the disk"),
        value("command", text(&O::command, "a shell command or \"\"", is_any_text),
              "run for each finished file, whose name is its last argument"),
    };
}

/// @param what   help of `directory`
/// @param apply  of `directory`
std::vector<Key<SpoolOptions>> spool_keys(const char* what, Apply apply) {
    using O = SpoolOptions;
    return {
        value("directory", text(&O::directory, "the path of a directory or \"\"", is_any_text),
              what, apply),
        value("max-size",
              whole_number(&O::max_octets, std::uint64_t{1} << 23U, std::uint64_t{1} << 44U),
              "octets of all files there; when they are reached, the oldest file goes"),
    };
}

std::vector<Key<TlsOptions>> tls_keys() {
    using O = TlsOptions;
    return {
        value("ca", text(&O::ca, "the path of a file or \"\"", is_any_text),
              "file of the certificate authorities (PEM) of which one has signed the collector's "
              "certificate, for tls; when empty, those that the system trusts"),
        value("certificate", text(&O::certificate, "the path of a file or \"\"", is_any_text),
              "file of this probe's own certificate and its chain (PEM), where the collector wants "
              "one"),
        value("key", text(&O::key, "the path of a file or \"\"", is_any_text),
              "file of that certificate's private key (PEM)"),
        value("name", text(&O::name, "a host name, an IP address or \"\"", is_word_or_empty),
              "the name or address that the collector's certificate must bear; when empty, host"),
    };
}

std::vector<Key<ProbeIdentity>> probe_keys() {
    using O = ProbeIdentity;
    return {
        value("name", text(&O::name, "a line of text", is_any_text),
              "this probe's name in records whose format is not ipfix; when empty, the host's"),
        value("address", text(&O::address, "an IP address or \"\"", is_ip_address_or_empty),
              "this probe's address in them; when empty, they have none"),
    };
}

/// The words of export.collectors[].options.
const std::vector<Word<bool OptionsChoice::*>>& options_words() {
    static const std::vector<Word<bool OptionsChoice::*>> words{
        {"reliability", &OptionsChoice::reliability},
        {"statistics", &OptionsChoice::statistics},
        {"interfaces", &OptionsChoice::interfaces},
        {"flow-keys", &OptionsChoice::flow_keys},
        {"types", &OptionsChoice::types}};
    return words;
}

/// Applies one word. @return  whether it is a known one
bool take_options(std::string_view text, OptionsChoice& chosen) {
    const auto* const word = find_word(options_words(), text);
    if (word != nullptr) {
        chosen.*(word->meaning) = true;
    }
    return word != nullptr;
}

bool accept_options(const YamlNode& node, CollectorOptions& collector) {
    collector.options = {.reliability = false,
                         .statistics = false,
                         .interfaces = false,
                         .flow_keys = false,
                         .types = false};
    return node.kind == YamlNode::Kind::list &&
           std::ranges::all_of(node.entries, [&collector](const YamlEntry& entry) {
               return take_options(entry.value.text, collector.options);
           });
}

std::string options_yaml(const CollectorOptions& collector) {
    std::string text;
    for (const auto& word : options_words()) {
        if (collector.options.*(word.meaning)) {
            text += (text.empty() ? "" : ", ") + std::string(word.text);
        }
    }
    return "[" + text + "]";
}

Rule<CollectorOptions> options_choice() {
    return {.limits = "a list of none or some of " + words_text(options_words()),
            .accept = accept_options,
            .yaml = options_yaml};
}

Rule<CollectorOptions> host_text() {
    auto rule = text(&CollectorOptions::host, "a host name or an IP address", is_host_or_empty);
    rule.advice = [](std::string_view text) {
        const std::string fault = unprintable_in(text, kLongestText);
        return fault.empty() ? advice_on_host(text) : fault;
    };
    return rule;
}

/// The address of a collector.
std::vector<Key<CollectorOptions>> place_keys() {
    using O = CollectorOptions;
    return {
        value("transport",
              choice(&O::transport, {{"udp", TransportKind::udp},
                                     {"tcp", TransportKind::tcp},
                                     {"tls", TransportKind::tls},
                                     {"file", TransportKind::file},
                                     {"kafka", TransportKind::kafka}}),
              "how messages travel; file is an IPFIX file (RFC 5655); kafka: each record is a "
              "message of a topic, which its brokers acknowledge; of ipfix and rawflow, several "
              "records"),
        value(
            "format", choice(&O::format, format_words()),
            "how records are written: ipfix; json, a line for each record, for tcp, "
            "tls and file, with a port that is given, and for kafka; csv, with a header, for file "
            "(docs/export.md); flowmessage, goflow2's protobuf messages, where json can be, and "
            "with their lengths in front (docs/messages.md); rawflow, Akvorado's "
            "protobuf messages around those of IPFIX, for kafka"),
        value("host", host_text(), "the collector; not for file and kafka"),
        value("port", whole_number_or_auto(&O::port, 1, kMost16),
              "the collector's port; auto is 4739, and 4740 for tls; not for file and kafka"),
        value("source-address",
              text(&O::source_address, "an IP address or \"\"", is_ip_address_or_empty),
              "local address to send from; when empty, the system's choice"),
        value("mtu", whole_number(&O::mtu, 512, 65507),
              "octets of the longest IPFIX message, for udp; at least 576 for biflows, 832 "
              "for biflows with TCP analysis"),
        value("rate",
              or_auto(&O::rate,
                      whole_number(&OneValue<std::uint64_t>::value, 0, std::uint64_t{1} << 40U)),
              "octets of messages that leave in a second, for udp, at least 1000; auto: 1000000, "
              "and more while more than half of buffer waits; 0: as they come"),
        value("udp-segmentation", flag(&O::udp_segmentation),
              "for udp, messages of one size are handed to the kernel together, which splits them "
              "into datagrams: less CPU for the export thread; tcpdump on the probe sees them "
              "before that"),
        value("path", text(&O::path, "the path of a file or \"\"", is_any_text),
              "the file to write, for transport file; with rotation each file's name has the time "
              "at which it begins"),
    };
}

/// Whether it has names of tables, each once.
bool are_tables(const std::vector<std::string>& names) {
    const std::set<std::string_view> different(names.begin(), names.end());
    return !names.empty() && different.size() == names.size() &&
           std::ranges::all_of(names, is_table_name);
}

/// The data for a collector.
std::vector<Key<CollectorOptions>> content_keys() {
    using O = CollectorOptions;
    return {
        value("tables",
              text_list(&O::tables, "a list of names of tables, at least one, and none twice",
                        are_tables),
              "the tables whose records this collector gets: main, which every probe has, and "
              "those of `tables` by their names. Each has a record of the same packet, so that a "
              "collector that adds up all its records counts packets once for each"),
        value("observation-domain",
              or_inherit(&O::observation_domain,
                         whole_number(&OneValue<std::uint32_t>::value, 0, kMost32)),
              "the number of this probe in this collector's messages, instead of "
              "export.observation-domain"),
        value("timestamps",
              or_inherit(&O::timestamps, timestamp_unit(&OneValue<TimestampUnit>::value)),
              "precision of start and end for this collector, instead of export.timestamps"),
        value("direction",
              or_inherit(&O::direction, choice(&OneValue<FlowDirection>::value,
                                               {{"uniflow", FlowDirection::uniflow},
                                                {"biflow", FlowDirection::biflow}})),
              "uniflow: this collector gets the two uniflows of each biflow"),
        value("sampling",
              choice(&O::sampling, {{"all", SamplingForm::all},
                                    {"rfc5477", SamplingForm::rfc5477},
                                    {"netflow", SamplingForm::netflow},
                                    {"netflow-where-sampled", SamplingForm::netflow_where_sampled},
                                    {"none", SamplingForm::none}}),
              "options records that tell this collector of sampling: rfc5477 (elements 304 to 306, "
              "311), netflow (34, 35), netflow-where-sampled (not where no input is sampled), "
              "both or none; docs/export.md says which collector reads what"),
        value("options", options_choice(),
              "options records that this collector gets beside those of sampling; docs/export.md "
              "has them"),
        value("tcp-control-bits", whole_number(&O::tcp_control_bits, 1, 2),
              "octets of tcpControlBits for this collector; with 1, for those that read no more "
              "(pmacct), without the flags beyond CWR"),
        value("enterprise-elements", flag(&O::enterprise_elements),
              "records for this collector have tributary's own elements, and ntop's where they are "
              "wanted; false is for one that drops records with elements that it does not know: "
              "values of declared tables that are such elements are left out, and a table whose "
              "key has one cannot go to it"),
        value("cert-elements", flag(&O::cert_elements),
              "TCP flags for this collector as CERT's unionTCPFlags too (enterprise 6871), and its "
              "reverse, as YAF sends them"),
    };
}

/// Keys of a collector's buffer and spool, and of its transport.
std::vector<Key<CollectorOptions>> transport_keys() {
    using O = CollectorOptions;
    return {
        value(
            "buffer", whole_number(&O::buffer, 65'536, std::uint64_t{1} << 30U),
            "octets of messages that wait for this collector, or, with tcp, tls and kafka, for its "
            "acknowledgement"),
        section("rotation", &O::rotation, rotation_keys()),
        section("tls", &O::tls, tls_keys()),
        section("spool", &O::spool,
                spool_keys("of this collector alone, where messages wait for it, also over a "
                           "restart, when its buffer is full, for tcp, tls and kafka, not with "
                           "export.mode failover; when empty, there is none",
                           Apply::as_section)),
    };
}

/// Applies a profile's settings to the collector.
void take_profile(CollectorProfile profile, CollectorOptions& collector) {
    collector.profile = profile;
    for (const ProfileSetting& setting : profile_settings()) {
        if (setting.profile == profile) {
            const std::string name(setting.key);
            const YamlNode node = parse_yaml(setting.value, {.name = "profile"}, name);
            Faults none;
            read_entry({.key = name, .value = node}, {}, collector_keys(), collector, none);
        }
    }
}

Key<CollectorOptions> profile_key() {
    std::vector<Word<CollectorProfile>> words;
    for (const ProfileEntry& entry : profile_entries()) {
        words.push_back({entry.word, entry.profile});
    }
    Rule<CollectorOptions> rule = choice(&CollectorOptions::profile, words);
    rule.accept = [words](const YamlNode& node, CollectorOptions& collector) {
        const auto* const word = find_word(words, node.text);
        if (!is_scalar(node) || word == nullptr) {
            return false;
        }
        take_profile(word->meaning, collector);
        return true;
    };
    Key<CollectorOptions> key = value(
        "profile", rule,
        "what collector it is: other keys here have the defaults that it needs, as the table of "
        "profiles in docs/configuration.md says; a key that is given overrides its profile");
    key.goes_first = true;
    return key;
}

/// The groups that export.fields may name: not what records have because of triggers.
std::vector<FieldGroupId> choosable_groups() {
    std::vector<FieldGroupId> groups;
    lasting_groups().for_each([&groups](FieldGroupId id) {
        if (field_group(id).chosen_by != ChosenBy::triggers) {
            groups.push_back(id);
        }
    });
    return groups;
}

/// Applies one word of export.fields. @return  whether it is a known one
bool take_field(std::string_view text, FieldGroups& whole, PartialGroups& partial) {
    for (const FieldGroupId id : choosable_groups()) {
        if (field_group(id).name == text) {
            whole.set(id);
            return true;
        }
    }
    for (const FieldGroupId id : choosable_groups()) {
        const std::span<const FieldElement> elements = field_group(id).elements;
        const auto found = std::ranges::find_if(elements, [text](const FieldElement& element) {
            return element.may_be_chosen && text == element.name;
        });
        if (found != elements.end()) {
            partial.add(id, static_cast<std::size_t>(found - elements.begin()));
            return true;
        }
    }
    return false;
}

bool accept_fields(const YamlNode& node, ExportOptions& options) {
    FieldGroups whole;
    options.partial = {};
    for (const YamlEntry& entry : node.entries) {
        if (!take_field(entry.value.text, whole, options.partial)) {
            return false;
        }
    }
    options.fields = whole | options.partial.groups;
    whole.for_each([&options](FieldGroupId id) { options.partial.remove(id); });
    return node.kind == YamlNode::Kind::list || node.kind == YamlNode::Kind::null;
}

/// The names of a group's elements that are chosen alone.
std::vector<std::string_view> chosen_elements(const PartialGroups& partial, FieldGroupId id) {
    std::vector<std::string_view> names;
    const std::span<const FieldElement> elements = field_group(id).elements;
    for (std::size_t index = 0; index < elements.size(); ++index) {
        if (partial.has(id, index)) {
            names.emplace_back(elements[index].name);
        }
    }
    return names;
}

std::string fields_yaml(const ExportOptions& options) {
    std::string text;
    const auto add = [&text](std::string_view word) {
        text += (text.empty() ? "" : ", ") + std::string(word);
    };
    (options.fields - options.partial.groups).for_each([&add](FieldGroupId id) {
        add(field_group(id).name);
    });
    options.partial.groups.for_each(
        [&](FieldGroupId id) { std::ranges::for_each(chosen_elements(options.partial, id), add); });
    return "[" + text + "]";
}

/// The groups, "extremes, layer2 or ..".
std::string groups_text() {
    std::string text;
    const std::vector<FieldGroupId> groups = choosable_groups();
    for (const FieldGroupId id : groups) {
        text += text.empty() ? "" : (id == groups.back() ? " or " : ", ");
        text += field_group(id).name;
    }
    return text;
}

Rule<ExportOptions> export_fields() {
    return {
        .limits = "a list of none or some of " + groups_text() + ", or of their elements by name",
        .accept = accept_fields,
        .yaml = fields_yaml};
}

}  // namespace

const std::vector<Word<RecordFormatKind>>& format_words() {
    static const std::vector<Word<RecordFormatKind>> words{
        {"ipfix", RecordFormatKind::ipfix},
        {"json", RecordFormatKind::json},
        {"csv", RecordFormatKind::csv},
        {"flowmessage", RecordFormatKind::flowmessage},
        {"rawflow", RecordFormatKind::rawflow}};
    return words;
}

std::string format_name(RecordFormatKind format) {
    return std::string(
        std::ranges::find(format_words(), format, &Word<RecordFormatKind>::meaning)->text);
}

const std::vector<Key<CollectorOptions>>& collector_keys() {
    static const std::vector<Key<CollectorOptions>> all = [] {
        std::vector<Key<CollectorOptions>> keys{profile_key()};
        std::ranges::copy(place_keys(), std::back_inserter(keys));
        std::ranges::copy(kafka_keys(), std::back_inserter(keys));
        std::ranges::copy(content_keys(), std::back_inserter(keys));
        std::ranges::copy(transport_keys(), std::back_inserter(keys));
        return keys;
    }();
    return all;
}

std::vector<Key<ExportOptions>> export_keys() {
    using O = ExportOptions;
    return {
        value("observation-domain", whole_number(&O::observation_domain, 0, kMost32),
              "the number of this probe in IPFIX messages"),
        section("probe", &O::probe, probe_keys()),
        value("template-refresh", whole_seconds(&O::template_refresh, 1, kLongestTimeout),
              "templates are sent again after this long, for udp"),
        value("template-refresh-packets", whole_number(&O::template_refresh_packets, 0, kMost32),
              "templates are sent again after so many packets of records too, for udp; 0: by time "
              "alone"),
        value(
            "options-interval", whole_seconds(&O::options_interval, 0, kLongestTimeout),
            "options records (what was lost and sent, interfaces, sampling, flow keys, types) are "
            "sent after this long again, and at the beginning and the end; 0: never"),
        value("flush-interval", seconds(&O::flush_interval, milliseconds(1), kHour),
              "a message that is not full leaves after this long"),
        value("drain-timeout", seconds(&O::drain_timeout, milliseconds(0), kHour),
              "how long the end waits for a collector that takes nothing"),
        value("mode",
              choice(&O::mode, {{"copy", ExportMode::copy},
                                {"balance", ExportMode::balance},
                                {"failover", ExportMode::failover}}),
              "copy: every collector gets every record; balance: each record goes to one, both "
              "directions of a flow to the same; failover: the first that can be reached gets all"),
        section("spool", &O::spool,
                spool_keys("where records wait while no collector can be reached, also over a "
                           "restart, for mode failover; when empty, there is none",
                           Apply::at_restart)),
        value("timestamps", timestamp_unit(&O::timestamps),
              "precision of a record's start and end"),
        value("fields", export_fields(),
              "fields that records have beside the default ones: groups, or elements of them by "
              "name (docs/fields.md)"),
        value("enterprise-number", whole_number(&O::enterprise_number, 1, kMost32),
              "the private enterprise number that tributary's own elements are exported under, "
              "neither 29305 nor 35632; docs/fields.md lists them"),
        value("ntop-elements", flag(&O::ntop_elements),
              "retransmissions and out of order also as ntop's elements (enterprise 35632), for "
              "collectors that know nProbe's; needs flows.tcp-analysis"),
        list_of("collectors", &O::collectors, collector_keys()),
    };
}

}  // namespace tributary
