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
        value("parse",
              choice(&O::parse, {{"full", ParseMode::full}}, {"trimmed", "unified-header"}),
              "how a packet's fields are found"),
        value("rss", choice(&O::rss, {{"ip-and-l4", RssMode::ip_and_l4}, {"ip", RssMode::ip}}),
              "what the NIC spreads packets over queues by; ip keeps fragments with their flow"),
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
              "flows that the cache of one queue holds at once, IPv4 and IPv6 together"),
        value("idle-timeout", whole_seconds(&O::idle_timeout, 1, kLongestTimeout),
              "a flow without a packet for this long is exported"),
        value("active-timeout", whole_seconds(&O::active_timeout, 1, kLongestTimeout),
              "a flow that lasts is exported after this long, and begins anew"),
        value("direction", only<O>({"uniflow"}, {"biflow"}),
              "one record for each direction of a conversation"),
        value("vlan-in-key", flag(&O::vlan_in_key),
              "packets of different VLANs are different flows"),
        value("tcp-end", flag(&O::tcp_end), "a TCP packet with FIN or RST ends its record"),
        value("tcp-analysis", only<O>({"false", "no"}, {"true", "yes"}),
              "TCP analysis, which this version does not have"),
    };
}

std::vector<Key<CollectorOptions>> collector_keys() {
    using O = CollectorOptions;
    return {
        value("transport",
              choice(&O::transport,
                     {{"udp", TransportKind::udp},
                      {"tcp", TransportKind::tcp},
                      {"file", TransportKind::file}},
                     {"tls"}),
              "how messages travel; file is an IPFIX file (RFC 5655)"),
        value("host", text(&O::host, "a host name or an IP address", is_word_or_empty),
              "the collector, for udp and tcp"),
        value("port", whole_number(&O::port, 1, kMost16), "the collector's port, for udp and tcp"),
        value("source-address",
              text(&O::source_address, "an IP address or empty", is_ip_address_or_empty),
              "local address to send from; when empty, the system's choice"),
        value("mtu", whole_number(&O::mtu, 512, 65507),
              "octets of the longest IPFIX message, for udp"),
        value("path", text(&O::path, "the path of a file or empty", is_any_text),
              "the file to write, for transport file"),
    };
}

std::vector<Key<ExportOptions>> export_keys() {
    using O = ExportOptions;
    return {
        value("observation-domain", whole_number(&O::observation_domain, 0, kMost32),
              "the number of this probe in IPFIX messages"),
        value("template-refresh", whole_seconds(&O::template_refresh, 1, kLongestTimeout),
              "templates are sent again after this long, for udp"),
        value("flush-interval", seconds(&O::flush_interval, milliseconds(1), kHour),
              "a message that is not full leaves after this long"),
        value("drain-timeout", seconds(&O::drain_timeout, milliseconds(0), kHour),
              "how long the end waits for a collector that takes nothing"),
        value("mode", only<O>({"copy"}, {"balance", "failover"}),
              "every collector gets every record"),
        value("timestamps",
              choice(&O::timestamps, {{"milliseconds", TimestampUnit::milliseconds},
                                      {"microseconds", TimestampUnit::microseconds},
                                      {"nanoseconds", TimestampUnit::nanoseconds}}),
              "precision of a record's start and end"),
        value("fields",
              subset(&O::fields,
                     {{"extremes", &FieldGroups::extremes},
                      {"layer2", &FieldGroups::layer2},
                      {"tcp-counts", &FieldGroups::tcp_counts}},
                     {"flow-label", "mpls", "tunnel", "fragments"}),
              "groups of fields that records have beside the default ones"),
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
    };
}

std::vector<Key<TelemetryOptions>> telemetry_keys() {
    return {value("listen", text(&TelemetryOptions::listen, "HOST:PORT", is_host_and_port),
                  "where later versions serve metrics; this one serves none")};
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
