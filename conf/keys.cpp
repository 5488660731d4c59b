// SPDX-License-Identifier: Apache-2.0
#include "conf/keys.hpp"

#include <limits>

#include "conf/rules.hpp"

namespace tributary {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMost16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kLongestTimeout = 1U << 31U;
constexpr milliseconds kHour{3'600'000};

template <class Options>
auto parse_mode(ParseMode Options::*member) {
    return choice(member, {{"full", ParseMode::full},
                           {"trimmed", ParseMode::trimmed},
                           {"unified-header", ParseMode::unified_header}});
}

/// Whether it compiles is found out where libpcap is (daemon/packet_filter.hpp).
template <class Options>
auto filter_text(std::string Options::*member) {
    constexpr std::size_t kLongestFilter = 4096;
    return text(member, "a filter expression in pcap syntax or empty", is_any_text, kLongestFilter);
}

template <class Options>
auto sampling_method(SamplingMethod Options::*member) {
    return choice(member, {{"count", SamplingMethod::count}, {"random", SamplingMethod::random}});
}

std::vector<Key<InputOptions>> input_keys() {
    using O = InputOptions;
    return {
        value("name", text(&O::name, "text", is_any_text),
              "its name in logs and metrics; when empty, the device"),
        value(
            "device",
            text(&O::device, "a PCI address, af_packet:IFNAME, af_xdp:IFNAME or a DPDK vdev string",
                 is_device),
            "where packets come from, such as 0000:81:00.0, af_packet:eth0 or net_tap0"),
        value("interface-index", whole_number_or_auto(&O::interface_index, 1, kMost32),
              "ingressInterface of its packets; auto is its position in the list, from 1"),
        value("queues", whole_number(&O::queues, 1, 1024),
              "receive queues, each with a thread and a flow cache of its own"),
        value("parse", parse_mode(&O::parse), "how a packet's fields are found"),
        value("trim-length", whole_number(&O::trim_length, 64, 256),
              "octets of a frame that parse: trimmed looks at"),
        value(
            "trimmed-by",
            choice(&O::trimmed_by, {{"driver", TrimmedBy::driver}, {"source", TrimmedBy::source}}),
            "what cuts packets for parse: trimmed: driver, the NIC, by buffer split (mlx5 only); "
            "source, they come cut, or whole and only their first octets are looked at"),
        value("filter", filter_text(&O::filter),
              "frames that do not match are filtered, and in no flow; when empty, all pass. Frames "
              "with VLAN tags match by vlan only, as in vlan and port 53"),
        value("sampling", whole_number(&O::sampling, 1, kMost32),
              "one in this many of the frames that pass is metered; counts are not scaled up"),
        value("sampling-method", sampling_method(&O::sampling_method),
              "count takes each Nth frame of a queue, random each frame with probability 1/N"),
        value("rss", choice(&O::rss, {{"ip-and-l4", RssMode::ip_and_l4}, {"ip", RssMode::ip}}),
              "what the NIC spreads packets over queues by; ip-and-l4 spreads better, but by "
              "addresses alone where a fragment has no ports; ip keeps all fragments with their "
              "flow, as flows.fragments: track needs with several queues"),
        value("promiscuous", flag(&O::promiscuous),
              "take also packets that are addressed to others"),
        value("mtu", whole_number(&O::mtu, 68, 16000),
              "octets of the longest IP packet that arrives"),
        value("rx-descriptors", whole_number(&O::rx_descriptors, 32, kMost16),
              "packets that the NIC can hold per queue; the driver may take fewer"),
        value("mempool-size", whole_number_or_auto(&O::mempool_size, 1, 1U << 30U),
              "packet buffers of this input; auto is by its queues and descriptors"),
    };
}

std::vector<Key<FlowCacheOptions>> flow_keys() {
    using O = FlowCacheOptions;
    return {
        value("max-flows", whole_number(&O::max_flows, 1, 1U << 30U),
              "flows that the cache of one queue holds at once without evicting one, IPv4 and IPv6 "
              "together; above 4096 a flood of flows may take a thirty-second more"),
        value("idle-timeout", whole_seconds(&O::idle_timeout, 1, kLongestTimeout),
              "a flow without a packet for this long is exported"),
        value("active-timeout", whole_seconds(&O::active_timeout, 1, kLongestTimeout),
              "a flow that lasts is exported after this long, and begins anew"),
        value("direction",
              choice(&O::direction,
                     {{"uniflow", FlowDirection::uniflow}, {"biflow", FlowDirection::biflow}}),
              "one record for each direction of a conversation, or one for both (RFC 5103), whose "
              "source is the initiator; of ICMP there are uniflows only"),
        value("initiator-by-port", flag(&O::initiator_by_port),
              "the initiator of a biflow whose first packet has no SYN is the side with the higher "
              "port, for direction: biflow; otherwise it is the sender of that packet"),
        value("vlan-in-key", flag(&O::vlan_in_key),
              "packets of different VLANs are different flows"),
        value("tunnel",
              choice(&O::tunnel, {{"outer", TunnelMode::outer}, {"inner", TunnelMode::inner}}),
              "the packet that is metered: the outermost, or the one inside IP in IP, GRE, ERSPAN, "
              "VXLAN, GENEVE and GTP-U tunnels, up to 8 of them; inner exports the group tunnel"),
        value("tunnel-in-key", flag(&O::tunnel_in_key),
              "packets of different tunnels are different flows, for tunnel: inner"),
        value("fragments",
              choice(&O::fragments, {{"zero", FragmentMode::zero}, {"track", FragmentMode::track}}),
              "ports of a packet's fragments behind the first: zero, or those of the first one if "
              "it came before on the same queue (choose rss: ip) and is still remembered: of NICs "
              "the last 65536 are, more or less, of captures the last 4194304 (a table that grows "
              "to 224 MiB for each of read.queues), and some 500000 whatever read.queues is"),
        value(
            "fragment-timeout", whole_seconds(&O::fragment_timeout, 0, kLongestTimeout),
            "for how long a first fragment's ports are given to later ones, for fragments: "
            "track; 60 is as long as hosts wait, 0 is as long as they are remembered: IPv4's "
            "16-bit identifications come round, and a later fragment whose first one was lost then "
            "gets the ports of another packet"),
        value("mpls-pseudowires", flag(&O::mpls_pseudowires),
              "look into Ethernet frames that MPLS carries"),
        value("llc-snap", flag(&O::llc_snap), "IP behind LLC and SNAP headers is metered"),
        value("tcp-end", flag(&O::tcp_end),
              "a TCP packet with FIN or RST ends its record; of a biflow RST, or the second "
              "direction's FIN"),
        value("tcp-analysis", only<O>({"false", "no"}, {"true", "yes"}),
              "TCP analysis, which this version does not have"),
    };
}

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
        value("command", text(&O::command, "a shell command or empty", is_any_text),
              "run for each finished file, whose name is its last argument"),
    };
}

std::vector<Key<SpoolOptions>> spool_keys() {
    using O = SpoolOptions;
    return {
        value("directory", text(&O::directory, "the path of a directory or empty", is_any_text),
              "of this collector alone, where messages wait for it, also over a restart, when its "
              "buffer is full, for tcp and tls; when empty, there is none"),
        value("max-size",
              whole_number(&O::max_octets, std::uint64_t{1} << 23U, std::uint64_t{1} << 44U),
              "octets of all files there; when they are reached, the oldest file goes"),
    };
}

std::vector<Key<TlsOptions>> tls_keys() {
    using O = TlsOptions;
    return {
        value("ca", text(&O::ca, "the path of a file or empty", is_any_text),
              "file of the certificate authorities (PEM) of which one has signed the collector's "
              "certificate, for tls; when empty, those that the system trusts"),
        value("certificate", text(&O::certificate, "the path of a file or empty", is_any_text),
              "file of this probe's own certificate and its chain (PEM), where the collector wants "
              "one"),
        value("key", text(&O::key, "the path of a file or empty", is_any_text),
              "file of that certificate's private key (PEM)"),
        value("name", text(&O::name, "a host name, an IP address or empty", is_word_or_empty),
              "the name or address that the collector's certificate must bear; when empty, host"),
    };
}

std::vector<Key<CollectorOptions>> collector_keys() {
    using O = CollectorOptions;
    return {
        value("transport",
              choice(&O::transport, {{"udp", TransportKind::udp},
                                     {"tcp", TransportKind::tcp},
                                     {"tls", TransportKind::tls},
                                     {"file", TransportKind::file}}),
              "how messages travel; file is an IPFIX file (RFC 5655)"),
        value("host", text(&O::host, "a host name or an IP address", is_host_or_empty),
              "the collector; not for file"),
        value("port", whole_number_or_auto(&O::port, 1, kMost16),
              "the collector's port; auto is 4739, and 4740 for tls; not for file"),
        value("source-address",
              text(&O::source_address, "an IP address or empty", is_ip_address_or_empty),
              "local address to send from; when empty, the system's choice"),
        value("mtu", whole_number(&O::mtu, 512, 65507),
              "octets of the longest IPFIX message, for udp; at least 576 for biflows"),
        value("path", text(&O::path, "the path of a file or empty", is_any_text),
              "the file to write, for transport file; with rotation each file's name has the time "
              "at which it begins"),
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
        value("buffer", whole_number(&O::buffer, 65'536, std::uint64_t{1} << 30U),
              "octets of messages that wait for this collector, or, with tcp and tls, for its "
              "acknowledgement"),
        section("rotation", &O::rotation, rotation_keys()),
        section("tls", &O::tls, tls_keys()),
        section("spool", &O::spool, spool_keys()),
    };
}

/// The words of export.fields that are groups.
const std::vector<Word<bool FieldGroups::*>>& group_words() {
    static const std::vector<Word<bool FieldGroups::*>> words{
        {"extremes", &FieldGroups::extremes},
        {"layer2", &FieldGroups::layer2},
        {"tcp-counts", &FieldGroups::tcp_counts},
        {"flow-label", &FieldGroups::flow_label},
        {"mpls", &FieldGroups::mpls},
        {"tunnel", &FieldGroups::tunnel},
        {"fragments", &FieldGroups::fragments}};
    return words;
}

/// Takes one word of export.fields. @return  whether it is one
bool take_field(std::string_view text, FieldGroups& whole, PartialGroups& partial) {
    if (const auto* word = find_word(group_words(), text)) {
        whole.*(word->meaning) = true;
        return true;
    }
    for (std::size_t index = 0; index < kGroupElements.size(); ++index) {
        if (kGroupElements.at(index).name == text) {
            partial.groups.*(kGroupElements.at(index).group) = true;
            partial.elements.set(index);
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
    options.fields = whole;
    for (const auto& word : group_words()) {
        const auto group = word.meaning;
        options.partial.groups.*group = options.partial.groups.*group && !(whole.*group);
        options.fields.*group = whole.*group || options.partial.groups.*group;
    }
    for (std::size_t index = 0; index < kGroupElements.size(); ++index) {
        if (!(options.partial.groups.*(kGroupElements.at(index).group))) {
            options.partial.elements.reset(index);  // its group is there as a whole
        }
    }
    return node.kind == YamlNode::Kind::list || node.kind == YamlNode::Kind::null;
}

std::string fields_yaml(const ExportOptions& options) {
    std::string text;
    const auto add = [&text](std::string_view word) {
        text += (text.empty() ? "" : ", ") + std::string(word);
    };
    for (const auto& word : group_words()) {
        if (options.fields.*(word.meaning) && !(options.partial.groups.*(word.meaning))) {
            add(word.text);
        }
    }
    for (std::size_t index = 0; index < kGroupElements.size(); ++index) {
        if (options.partial.elements[index]) {
            add(kGroupElements.at(index).name);
        }
    }
    return "[" + text + "]";
}

Rule<ExportOptions> export_fields() {
    return {.limits = "a list of none or some of " + words_text(group_words()) +
                      ", or of their elements by name",
            .later = {},
            .accept = accept_fields,
            .yaml = fields_yaml};
}

std::vector<Key<ExportOptions>> export_keys() {
    using O = ExportOptions;
    return {
        value("observation-domain", whole_number(&O::observation_domain, 0, kMost32),
              "the number of this probe in IPFIX messages"),
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
        value("timestamps", timestamp_unit(&O::timestamps),
              "precision of a record's start and end"),
        value("fields", export_fields(),
              "fields that records have beside the default ones: groups, or elements of them by "
              "name (docs/fields.md)"),
        value("enterprise-number", whole_number(&O::enterprise_number, 1, kMost32),
              "the private enterprise number that tributary's own elements are exported under; "
              "docs/fields.md lists them"),
        list_of("collectors", &O::collectors, collector_keys()),
    };
}

std::vector<Key<CoreOptions>> core_keys() {
    using O = CoreOptions;
    return {
        value("export", cores(&O::export_cores, 1, "auto or the number of one core"),
              "core of the export thread"),
        value("input", cores(&O::input_cores, kMost16, "auto or a list of core numbers"),
              "cores of the input threads, one for each queue in the order of the inputs"),
        value("numa",
              choice(&O::numa, {{"strict", NumaPolicy::strict},
                                {"warn", NumaPolicy::warn},
                                {"off", NumaPolicy::off}}),
              "what to do about a core that is not on the NUMA node of its NIC"),
    };
}

std::vector<Key<ReadOptions>> read_keys() {
    using O = ReadOptions;
    return {
        value("queues", whole_number(&O::queues, 1, 256),
              "threads that share the packets of captures, for --read"),
        value("interface-index", whole_number(&O::interface_index, 0, kMost32),
              "ingressInterface of the packets of captures, for --read"),
        value("parse", parse_mode(&O::parse),
              "how the fields of a capture's packets are found, for --read"),
        value("trim-length", whole_number(&O::trim_length, 64, 256),
              "octets of a frame that parse: trimmed looks at, for --read"),
        value("filter", filter_text(&O::filter),
              "frames that do not match are filtered, and in no flow; when empty, all pass; for "
              "--read"),
        value("sampling", whole_number(&O::sampling, 1, kMost32),
              "one in this many of the frames that pass is metered; counts are not scaled up; for "
              "--read"),
        value(
            "sampling-method", sampling_method(&O::sampling_method),
            "count takes each Nth frame of a thread, so which ones depends on read.queues; random "
            "takes each frame with probability 1/N"),
    };
}

std::vector<Key<TelemetryOptions>> telemetry_keys() {
    return {value(
        "listen",
        text(&TelemetryOptions::listen, "IPv4 ADDRESS:PORT or empty", is_listen_address_or_empty),
        "where HTTP serves /metrics for Prometheus and /healthz; when \"\", nowhere")};
}

}  // namespace

std::vector<Key<Config>> config_keys() {
    return {
        list_of("inputs", &Config::inputs, input_keys()),
        section("flows", &Config::flows, flow_keys()),
        section("export", &Config::export_, export_keys()),
        section("cores", &Config::cores, core_keys()),
        section("read", &Config::read, read_keys()),
        section("telemetry", &Config::telemetry, telemetry_keys()),
    };
}

std::vector<Setting> settings_of(const Config& config) {
    std::vector<Setting> settings;
    list_section(config, {}, config_keys(), settings);
    return settings;
}

}  // namespace tributary
