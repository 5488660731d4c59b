// SPDX-License-Identifier: Apache-2.0
#include "conf/check_config.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "conf/address_rules.hpp"
#include "conf/config_error.hpp"

namespace tributary {
namespace {

std::string input_path(std::size_t index, const char* key) {
    return "inputs." + std::to_string(index) + "." + key;
}

/// The values of `key`, one per input in order, must differ.
class Unique {
public:
    Unique(const char* key, const char* hint, const YamlNode& root)
        : key_(key), hint_(hint), root_(root) {}

    void add(const std::string& value) {
        const std::string path = input_path(count_++, key_);
        const auto [first, is_new] = seen_.emplace(value, path);
        if (!is_new) {
            refuse(place_of(root_, path), path + " is " + shown(value) + "; must differ from " +
                                              first->second + " (" + hint_ + ")");
        }
    }

private:
    const char* key_;
    const char* hint_;
    const YamlNode& root_;
    std::size_t count_ = 0;
    std::map<std::string, std::string> seen_;
};

/// A part of the configuration whose values must fit each other.
class Section {
public:
    Section(const YamlNode& root, std::string path) : root_(root), path_(std::move(path)) {}

    /// Refuses the key, saying `what` of it, unless it is good.
    void demand(const char* key, bool is_good, const std::string& what) const {
        if (!is_good) {
            const std::string path = path_ + "." + key;
            refuse(place_of(root_, path), path + what);
        }
    }

private:
    const YamlNode& root_;
    std::string path_;
};

/// On the unified-header path there are no frames to choose from, and a frame holds many packets.
template <class Options>
void check_selection(const Options& options, const Section& section) {
    const bool has_frames = options.parse != ParseMode::unified_header;
    const char* const no_frames =
        " is given, but parse is unified-header; must be left out (whoever parses the packets can "
        "choose among them)";
    section.demand("filter", has_frames || options.filter.empty(), no_frames);
    section.demand("sampling", has_frames || options.sampling == 1, no_frames);
}

/// What unified headers do not carry cannot be exported, and what their sender decides cannot be
/// decided again.
///
/// @param parse  path of the key that is unified-header
void check_unified_headers(const Config& config, const std::string& parse, const YamlNode& root) {
    const auto demand = [&](bool is_good, const std::string& key, const std::string& given,
                            const std::string& instead) {
        if (!is_good) {
            refuse(place_of(root, key),
                   key + given + ", but " + parse + " is unified-header; must " + instead);
        }
    };
    const FieldGroups& fields = config.export_.fields;
    const std::string not_carried = "be without it (unified headers do not carry it)";
    demand(!fields.flow_label, "export.fields", " has flow-label", not_carried);
    demand(!fields.mpls, "export.fields", " has mpls", not_carried);
    demand(!fields.tunnel, "export.fields", " has tunnel", not_carried);
    demand(config.flows.tunnel == TunnelMode::outer, "flows.tunnel", " is inner",
           "be outer (whoever parses the packets decides: tributary preparse --set "
           "flows.tunnel=inner)");
    demand(config.flows.fragments == FragmentMode::zero, "flows.fragments", " is track",
           "be zero (whoever parses the packets tracks them: tributary preparse --set "
           "flows.fragments=track)");
}

void check_inputs(const Config& config, const YamlNode& root) {
    if (config.inputs.empty()) {
        refuse(
            place_of(root, "inputs"),
            "inputs is empty; must have at least one item (such as {device: \"af_packet:eth0\"})");
    }
    Unique devices("device", "more queues, not more inputs, share the packets of one device", root);
    Unique names("name", "logs and metrics tell inputs apart by it", root);
    Unique indices("interface-index", "collectors tell inputs apart by it", root);
    for (std::size_t i = 0; i < config.inputs.size(); ++i) {
        const InputOptions& input = config.inputs[i];
        if (input.device.empty()) {
            const std::string path = input_path(i, "device");
            refuse(place_of(root, path),
                   path +
                       " is missing; must be a PCI address, "
                       "af_packet:IFNAME, af_xdp:IFNAME or a DPDK vdev string");
        }
        devices.add(input.device);
        names.add(input.name);
        indices.add(std::to_string(input.interface_index));
        check_selection(input, Section(root, "inputs." + std::to_string(i)));
        if (input.parse == ParseMode::unified_header) {
            check_unified_headers(config, input_path(i, "parse"), root);
        }
    }
}

void check_place(const CollectorOptions& collector, const Section& section) {
    if (collector.transport == TransportKind::file) {
        const char* const no_host =
            " is given, but transport is file; must be left out (or transport udp, tcp or tls)";
        section.demand("path", !collector.path.empty(),
                       " is missing; must be the path of the file to write (transport is file)");
        section.demand("host", collector.host.empty(), no_host);
        section.demand("source-address", collector.source_address.empty(), no_host);
        return;
    }
    section.demand(
        "host", !collector.host.empty(),
        " is missing; must be the collector's name or address (or transport must be file)");
    section.demand("path", collector.path.empty(),
                   " is given, but transport is not file; must be left out (or transport file)");
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

void check_direction(const CollectorOptions& collector, FlowDirection cache,
                     const Section& section) {
    const bool is_paired = cache == FlowDirection::biflow;
    section.demand("direction", is_paired || collector.direction != FlowDirection::biflow,
                   " is biflow, but flows.direction is uniflow; must be uniflow or inherit (or "
                   "flows.direction biflow)");
}

void check_spool(const CollectorOptions& collector, ExportMode mode, const Section& section) {
    if (!collector.spool.is_on()) {
        return;
    }
    const bool is_stream =
        collector.transport == TransportKind::tcp || collector.transport == TransportKind::tls;
    section.demand("spool.directory", is_stream,
                   " is given, but transport is neither tcp nor tls; must be left out");
    section.demand("spool.max-size", collector.spool.max_octets >= 2 * collector.buffer,
                   " is " + std::to_string(collector.spool.max_octets) + ", but buffer is " +
                       std::to_string(collector.buffer) + "; must be at least twice as much");
    section.demand("spool.directory", mode != ExportMode::failover,
                   " is given, but export.mode is failover; must be left out (records that wait go "
                   "to the next collector)");
}

/// A file that is one message longer than the templates would do; this is one that is worth it.
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

/// @return  4 or 6, or nothing for what is no address
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

/// The templates of biflows are twice as long; one that does not fit a message cannot be sent.
void check_mtu(const CollectorOptions& collector, FlowDirection direction, const Section& section) {
    constexpr std::uint16_t kLeastForBiflows = 576;
    const bool is_limited =
        direction == FlowDirection::biflow && collector.transport == TransportKind::udp;
    section.demand("mtu", !is_limited || collector.mtu >= kLeastForBiflows,
                   " is " + std::to_string(collector.mtu) +
                       ", but flows.direction is biflow; must be at least " +
                       std::to_string(kLeastForBiflows) + " (templates of biflows are long)");
}

std::string place_of_collector(const CollectorOptions& collector) {
    std::error_code unknown;  // no working directory: then the path is what it is
    return collector.transport == TransportKind::file
               ? std::filesystem::absolute(collector.path, unknown).lexically_normal().string()
               : collector.host + ", port " + std::to_string(collector.port) +
                     (collector.transport == TransportKind::udp ? ", udp" : ", tcp");
}

void check_spool_of_its_own(const std::vector<CollectorOptions>& collectors, std::size_t index,
                            const YamlNode& root) {
    const auto directory = [&](std::size_t of) {
        return std::filesystem::path(collectors[of].spool.directory + "/").lexically_normal();
    };
    for (std::size_t other = 0; other < index; ++other) {
        if (collectors[index].spool.is_on() && directory(other) == directory(index)) {
            const std::string path = "export.collectors." + std::to_string(index) + ".spool";
            refuse(place_of(root, path + ".directory"),
                   path + ".directory is that of export.collectors." + std::to_string(other) +
                       " too; must be a directory of its own");
        }
    }
}

void check_collectors(const Config& config, const YamlNode& root) {
    const std::vector<CollectorOptions>& collectors = config.export_.collectors;
    if (collectors.empty()) {
        refuse(place_of(root, "export.collectors"),
               "export.collectors is empty; must have one item (such as {host: 192.0.2.1})");
    }
    if (collectors.size() > kMostCollectors) {
        refuse(place_of(root, "export.collectors"),
               "export.collectors has " + std::to_string(collectors.size()) +
                   " items; must have at most " + std::to_string(kMostCollectors));
    }
    std::map<std::string, std::string> seen;
    for (std::size_t i = 0; i < collectors.size(); ++i) {
        const std::string at = "export.collectors." + std::to_string(i);
        const Section section(root, at);
        check_place(collectors[i], section);
        check_source_address(collectors[i], section);
        check_rotation(collectors[i], section);
        check_direction(collectors[i], config.flows.direction, section);
        check_tls(collectors[i], section);
        check_spool(collectors[i], config.export_.mode, section);
        check_mtu(collectors[i], config.flows.direction, section);
        check_spool_of_its_own(collectors, i, root);
        const auto [first, is_new] = seen.emplace(place_of_collector(collectors[i]), at);
        if (!is_new) {
            refuse(place_of(root, at), at + " is at " + first->first + "; must differ from " +
                                           first->second + " (it would get its records twice)");
        }
    }
}

void check_cores(const Config& config, const YamlNode& root) {
    std::size_t queues = 0;
    for (const InputOptions& input : config.inputs) {
        queues += input.queues;
    }
    const std::size_t cores = config.cores.input_cores.size();
    if (cores != 0 && cores != queues) {
        refuse(place_of(root, "cores.input"), "cores.input has " + std::to_string(cores) +
                                                  " cores; must be " + std::to_string(queues) +
                                                  ", one for each queue of the inputs (or auto)");
    }
}

void demand_parser(ParseMode mode, const char* key, const YamlNode& root) {
    if (mode == ParseMode::unified_header) {
        refuse(place_of(root, key), std::string(key) +
                                        " is unified-header; must be full or trimmed (unified "
                                        "headers are what tributary preparse sends)");
    }
}

}  // namespace

void complete_inputs(Config& config) {
    std::uint32_t position = 0;
    for (InputOptions& input : config.inputs) {
        ++position;
        if (input.interface_index == 0) {
            input.interface_index = position;
        }
        if (input.name.empty()) {
            input.name = input.device;
        }
    }
}

void complete_collectors(Config& config) {
    for (CollectorOptions& collector : config.export_.collectors) {
        if (collector.port == 0) {
            collector.port = collector.transport == TransportKind::tls ? kIpfixTlsPort : kIpfixPort;
        }
    }
}

void check_flows(const Config& config, const YamlNode& root) {
    if (config.flows.initiator_by_port && config.flows.direction == FlowDirection::uniflow) {
        refuse(place_of(root, "flows.initiator-by-port"),
               "flows.initiator-by-port is true, but flows.direction is uniflow; must be false (or "
               "flows.direction biflow)");
    }
    if (config.flows.tunnel_in_key && config.flows.tunnel == TunnelMode::outer) {
        refuse(place_of(root, "flows.tunnel-in-key"),
               "flows.tunnel-in-key is true, but flows.tunnel is outer; must be false (or "
               "flows.tunnel inner)");
    }
}

void check_export(const Config& config, const YamlNode& root) {
    constexpr std::uint32_t kReverse = 29'305;
    Section(root, "export")
        .demand("enterprise-number", config.export_.enterprise_number != kReverse,
                " is 29305; must be another one (it means reverse elements, RFC 5103)");
}

void check_read(const Config& config, const YamlNode& root) {
    check_selection(config.read, Section(root, "read"));
}

void check_offline(const Config& config, const YamlNode& root) {
    if (config.read.parse == ParseMode::unified_header) {
        check_unified_headers(config, "read.parse", root);
    }
}

void check_preparse(const Config& config, const YamlNode& root) {
    if (config.flows.tunnel_in_key) {
        refuse(place_of(root, "flows.tunnel-in-key"),
               "flows.tunnel-in-key is true, but tributary preparse makes no flows; must be false "
               "(unified headers do not carry tunnels, so no receiver can tell them apart)");
    }
}

void check_preparse_device(const Config& config, const YamlNode& root) {
    if (config.inputs.size() > 1) {
        refuse(place_of(root, "inputs.1"),
               "inputs has " + std::to_string(config.inputs.size()) +
                   " items; must be one (--from is it, and tributary preparse takes no other)");
    }
    for (const InputOptions& input : config.inputs) {
        demand_parser(input.parse, "inputs.0.parse", root);
    }
    check_inputs(config, root);
    check_cores(config, root);
}

void check_preparse_captures(const Config& config, const YamlNode& root) {
    if (!config.inputs.empty()) {
        refuse(place_of(root, "inputs"),
               "inputs is given, but packets come from captures; must be left out (read.* are the "
               "keys for --read)");
    }
    demand_parser(config.read.parse, "read.parse", root);
}

void check_probe(const Config& config, const YamlNode& root) {
    check_inputs(config, root);
    check_collectors(config, root);
    check_cores(config, root);
}

}  // namespace tributary
