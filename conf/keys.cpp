// SPDX-License-Identifier: Apache-2.0
#include "conf/keys.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "conf/export_keys.hpp"
#include "conf/recorder_keys.hpp"
#include "conf/rules.hpp"
#include "conf/table_keys.hpp"
#include "conf/trigger_keys.hpp"

namespace tributary {
namespace {

using std::chrono::milliseconds;

template <class Options>
auto parse_mode(ParseMode Options::*member) {
    return choice(member, {{"full", ParseMode::full},
                           {"trimmed", ParseMode::trimmed},
                           {"unified-header", ParseMode::unified_header}});
}

Rule<InputOptions> device_text(std::string InputOptions::*member) {
    Rule<InputOptions> rule = text(
        member, "a PCI address, af_packet:IFNAME, af_xdp:IFNAME or a DPDK vdev string", is_device);
    rule.hint = [](std::string_view text) { return device_like(std::string(text)); };
    return rule;
}

template <class Options>
auto sampling_method(SamplingMethod Options::*member) {
    return choice(member, {{"count", SamplingMethod::count}, {"random", SamplingMethod::random}});
}

Rule<LogOptions> log_level(LogLevel LogOptions::*member) {
    std::vector<Word<LogLevel>> words;
    words.reserve(kLogLevels.size());
    for (const auto& [word, level] : kLogLevels) {
        words.push_back({word, level});
    }
    return choice(member, words);
}

std::vector<Key<InputOptions>> input_keys() {
    using O = InputOptions;
    return {
        value("name", text(&O::name, "a line of text", is_any_text),
              "its name in logs and metrics; when empty, the device"),
        value("device", device_text(&O::device),
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
              "with VLAN tags match by vlan only, as in vlan and port 53",
              Apply::to_filters),
        value("sampling", whole_number(&O::sampling, 1, kMost32),
              "one in this many of the frames that pass is metered; counts are not scaled up"),
        value("sampling-method", sampling_method(&O::sampling_method),
              "count takes each Nth frame of a queue, random each frame with probability 1/N"),
        value("rss", choice(&O::rss, {{"ip-and-l4", RssMode::ip_and_l4}, {"ip", RssMode::ip}}),
              "what the NIC spreads packets over queues by; ip-and-l4 spreads better, but by "
              "addresses alone where a fragment has no ports; ip keeps all fragments with their "
              "flow, as flows.fragments: track needs with several queues"),
        value("poll",
              choice(&O::poll, {{"busy", PollMode::busy}, {"adaptive", PollMode::adaptive}}),
              "what its threads do while no packet comes: busy polls on; adaptive waits for the "
              "NIC's interrupt where the driver has them, else sleeps for at most half the time in "
              "which the smallest packets fill its descriptors"),
        value("promiscuous", flag(&O::promiscuous),
              "take also packets that are addressed to others"),
        value("mtu", whole_number_or_auto(&O::mtu, 68, 16000),
              "octets of the longest IP packet that arrives; auto is that of the interface for "
              "af_packet: (from 1500 to 16000) and af_xdp: (to 3046), and 1500 for others"),
        value("rx-descriptors", whole_number(&O::rx_descriptors, 32, kMost16),
              "packets that the NIC can hold per queue; the driver may take fewer"),
        value("mempool-size", whole_number_or_auto(&O::mempool_size, 1, 1U << 30U),
              "packet buffers of this input; auto is by its queues and descriptors"),
    };
}

/// Keys for TCP only.
std::vector<Key<FlowCacheOptions>> tcp_keys() {
    using O = FlowCacheOptions;
    return {
        value("tcp-end", flag(&O::tcp_end),
              "a record ends with its TCP connection: tcp-end-timeout after the last packet once "
              "its end was seen (RST, or FIN; of a biflow the second direction's FIN), or with a "
              "SYN, which begins the next record"),
        value("tcp-end-timeout", whole_seconds(&O::tcp_end_timeout, 1, kLongestTimeout),
              "a record whose connection's end was seen is exported after this long without a "
              "packet, for tcp-end; never later than idle-timeout has it",
              Apply::to_timeouts),
        value("tcp-analysis", flag(&O::tcp_analysis),
              "TCP flows have retransmissions, duplicates, segments out of order, zero windows and "
              "more (docs/tcp-records.md)"),
        value("tcp-duplicate-time", seconds(&O::tcp_duplicate_time, milliseconds(1), kHour),
              "the same segment again is a duplicate unless its direction was silent for longer, "
              "for tcp-analysis"),
        value("tcp-retransmission-time",
              seconds(&O::tcp_retransmission_time, milliseconds(0), kHour),
              "octets again are a retransmission unless their direction was silent for longer, for "
              "tcp-analysis; 0: however long it was while the flow runs"),
    };
}

std::vector<Key<FlowCacheOptions>> flow_keys() {
    using O = FlowCacheOptions;
    std::vector<Key<FlowCacheOptions>> keys{
        value("max-flows", whole_number(&O::max_flows, 1, 1U << 30U),
              "flows that the cache of one queue holds at once without evicting one, IPv4 and IPv6 "
              "together; above 4096 a flood of flows may take a sixteenth more"),
        value("idle-timeout", whole_seconds(&O::idle_timeout, 1, kLongestTimeout),
              "a flow without a packet for this long is exported", Apply::to_timeouts),
        value("active-timeout", whole_seconds(&O::active_timeout, 1, kLongestTimeout),
              "a flow that lasts is exported after this long, and begins anew", Apply::to_timeouts),
        value("direction",
              choice(&O::direction,
                     {{"uniflow", FlowDirection::uniflow}, {"biflow", FlowDirection::biflow}}),
              "one record for each direction of a conversation, or one for both (RFC 5103), whose "
              "source is the initiator; of ICMP there are uniflows only"),
        value("initiator-by-port", flag(&O::initiator_by_port),
              "the initiator of a biflow whose first packet has no SYN is the side with the higher "
              "port, for direction: biflow; otherwise it is the sender of that packet"),
        value("vlan-in-key",
              flag<O>([](const O& flows) { return flows.key.vlan; },
                      [](O& flows, bool is_in_key) { flows.key.vlan = is_in_key; }),
              "packets of different VLANs are different flows"),
        value("tunnel",
              choice(&O::tunnel, {{"outer", TunnelMode::outer}, {"inner", TunnelMode::inner}}),
              "the packet that is metered: the outermost, or the one inside IP in IP, GRE, ERSPAN, "
              "VXLAN, GENEVE and GTP-U tunnels, up to 8 of them; inner exports the group tunnel"),
        value("tunnel-in-key",
              flag<O>([](const O& flows) { return flows.key.extension == KeyExtension::tunnel; },
                      [](O& flows, bool is_in_key) {
                          flows.key.extension =
                              is_in_key ? KeyExtension::tunnel : KeyExtension::none;
                      }),
              "packets of different tunnels are different flows, for tunnel: inner"),
        value("mac-addresses",
              choice(&O::mac_addresses, {{"inner", MacMode::inner}, {"outer", MacMode::outer}}),
              "MAC addresses of the group layer2, where a tunnel or an MPLS pseudo-wire carries "
              "Ethernet: those of the frame right around the packet that is metered, or of the "
              "outermost frame"),
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
    };
    std::ranges::move(tcp_keys(), std::back_inserter(keys));
    return keys;
}

std::vector<Key<CoreOptions>> core_keys() {
    using O = CoreOptions;
    return {
        value("export", cores(&O::export_cores, 1, "auto or the number of one core"),
              "core of the export thread"),
        value("input", cores(&O::input_cores, kMost16, "auto or a list of core numbers"),
              "cores of the input threads, one for each queue in the order of the inputs"),
        value("helpers", cores(&O::helper_cores, kMost16, "auto or a list of core numbers"),
              "cores of all other threads: the main thread, telemetry, control, files, and those "
              "that libraries start; auto is the core of the export thread"),
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

std::vector<Key<ControlOptions>> control_keys() {
    return {value(
        "socket",
        text(&ControlOptions::socket,
             "auto, the path of a unix socket, of at most 107 octets, or \"\"", is_any_text,
             kLongestSocketPath),
        "where `tributary` reaches a running tributaryd; auto is control.sock in the service's "
        "runtime directory or in /run/tributary; when \"\", nowhere")};
}

std::vector<Key<LogOptions>> log_keys() {
    using O = LogOptions;
    return {
        value("level", log_level(&O::level),
              "the least important lines that are written; --log-level goes before it",
              Apply::to_log_level),
        value(
            "file", text(&O::file, "the path of a file or \"\"", is_any_text),
            "where lines go, of this process alone, with older ones beside it as "
            "NAME.1.EXTENSION and so on; what cannot be written there, and errors, go to standard "
            "error. When empty, all do, and under systemd to the journal"),
        value("max-size", whole_number(&O::max_octets, 4096, std::uint64_t{1} << 40U),
              "octets after which the next file begins"),
        value("max-files", whole_number(&O::max_files, 2, 1000),
              "how many files there are at most; the oldest goes"),
    };
}

std::vector<Key<TelemetryOptions>> telemetry_keys() {
    using O = TelemetryOptions;
    return {
        value("listen", text(&O::listen, "IPv4 ADDRESS:PORT or \"\"", is_listen_address_or_empty),
              "where HTTP serves /metrics for Prometheus and /healthz; when \"\", nowhere"),
        value(
            "dpdk", flag(&O::dpdk),
            "open DPDK's telemetry socket in the runtime directory, where dpdk-telemetry.py finds "
            "/tributary/ledger and others beside what DPDK tells. DPDK's own answers, such as "
            "/ethdev/stats, take no part in the locks here: not to be asked while a probe ends"),
    };
}

}  // namespace

std::vector<Key<Config>> config_keys() {
    return {
        list_of("inputs", &Config::inputs, input_keys(), Apply::at_restart),
        section("flows", &Config::flows, flow_keys(), Apply::at_restart),
        list_of("fields", &Config::fields, own_field_keys(), Apply::to_tables),
        list_of("tables", &Config::tables, table_keys(), Apply::to_tables),
        section("recorder", &Config::recorder, recorder_keys(), Apply::at_restart),
        list_of("triggers", &Config::triggers, trigger_keys(), Apply::at_restart),
        section("export", &Config::export_, export_keys(), Apply::to_export),
        section("cores", &Config::cores, core_keys(), Apply::at_restart),
        section("read", &Config::read, read_keys(), Apply::at_restart),
        section("telemetry", &Config::telemetry, telemetry_keys(), Apply::at_restart),
        section("control", &Config::control, control_keys(), Apply::at_restart),
        section("log", &Config::log, log_keys(), Apply::at_restart),
    };
}

std::vector<Setting> settings_of(const Config& config) {
    std::vector<Setting> settings;
    list_section(config, {}, config_keys(), settings);
    return settings;
}

}  // namespace tributary
