// SPDX-License-Identifier: Apache-2.0
#include "conf/check_config.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "conf/check_collectors.hpp"
#include "conf/config_error.hpp"
#include "conf/config_section.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {
namespace {

std::string input_path(std::size_t index, const char* key) {
    return "inputs." + std::to_string(index) + "." + key;
}

/// The values of `key`, one per input in order, must differ.
class Unique {
public:
    Unique(const char* key, const char* hint, const YamlNode& root, Faults& faults)
        : key_(key), hint_(hint), root_(root), faults_(faults) {}

    /// @return  whether it differs from the values before
    bool add(const std::string& value) {
        const std::string path = input_path(count_++, key_);
        if (value.empty()) {
            return true;  // a missing value is another fault
        }
        const auto [first, is_new] = seen_.emplace(value, path);
        if (!is_new && !faults_.is_unread(path)) {
            faults_.note(path, place_of(root_, path) + ": " + path + " is " + shown(value) +
                                   "; must differ from " + first->second + " (" + hint_ + ")");
        }
        return is_new;
    }

private:
    const char* key_;
    const char* hint_;
    const YamlNode& root_;
    Faults& faults_;
    std::size_t count_ = 0;
    std::map<std::string, std::string> seen_;
};

/// Filters and sampling do not apply to unified headers: their frames hold many packets.
template <class Options>
void check_selection(const Options& options, const Section& section) {
    const bool has_frames = options.parse != ParseMode::unified_header;
    const char* const no_frames =
        " is given, but parse is unified-header; must be left out (the sender of unified headers "
        "can choose among them)";
    section.demand("filter", has_frames || options.filter.empty(), no_frames);
    section.demand("sampling", has_frames || options.sampling == 1, no_frames);
}

/// Fields that unified headers do not carry cannot be exported, and decisions of their sender
/// cannot be changed.
///
/// @param parse  path of the key with value unified-header
void check_unified_headers(const Config& config, const std::string& parse, const YamlNode& root,
                           Faults& faults) {
    const auto demand = [&](bool is_good, const std::string& key, const std::string& given,
                            const std::string& instead) {
        if (!is_good && !faults.is_unread(key)) {
            faults.note(key, place_of(root, key) + ": " + key + given + ", but " + parse +
                                 " is unified-header; must " + instead);
        }
    };
    const FieldGroups& fields = config.export_.fields;
    const std::string not_carried = "be without it (unified headers do not carry it)";
    fields.for_each([&](FieldGroupId id) {
        const FieldGroup& group = field_group(id);
        demand(group.in_unified_headers, "export.fields", " has " + std::string(group.name),
               not_carried);
    });
    demand(config.flows.tunnel == TunnelMode::outer, "flows.tunnel", " is inner",
           "be outer (the sender of unified headers decides: tributary preparse --set "
           "flows.tunnel=inner)");
    demand(config.flows.fragments == FragmentMode::zero, "flows.fragments", " is track",
           "be zero (the sender of unified headers tracks them: tributary preparse --set "
           "flows.fragments=track)");
}

void check_inputs(const Config& config, const YamlNode& root, Faults& faults) {
    if (config.inputs.empty() && !faults.is_unread("inputs")) {
        faults.note("inputs", place_of(root, "inputs") +
                                  ": inputs is empty; must have at least one item (such as "
                                  "{device: \"af_packet:eth0\"})");
    }
    Unique devices("device", "more queues, not more inputs, share the packets of one device", root,
                   faults);
    Unique names("name", "logs and metrics tell inputs apart by it", root, faults);
    Unique indices("interface-index", "collectors tell inputs apart by it", root, faults);
    for (std::size_t i = 0; i < config.inputs.size(); ++i) {
        const InputOptions& input = config.inputs[i];
        const Section section(root, "inputs." + std::to_string(i), faults);
        section.demand("device", !input.device.empty(),
                       " is missing; must be a PCI address, af_packet:IFNAME, af_xdp:IFNAME or a "
                       "DPDK vdev string");
        const bool has_own_device = devices.add(input.device);
        // Without a name of its own it has the device's, whose fault is noted already.
        names.add(has_own_device || input.name != input.device ? input.name : std::string());
        indices.add(std::to_string(input.interface_index));
        check_selection(input, section);
        if (input.parse == ParseMode::unified_header) {
            check_unified_headers(config, input_path(i, "parse"), root, faults);
        }
    }
}

/// Helper threads never run on the core of an input thread, which would lose packets meanwhile.
void check_helper_cores(const CoreOptions& cores, const YamlNode& root, Faults& faults) {
    const auto refuse_core = [&](std::uint32_t core, const char* why) {
        faults.note("cores.helpers", place_of(root, "cores.helpers") + ": cores.helpers has core " +
                                         std::to_string(core) + why);
    };
    std::set<std::uint32_t> seen;
    for (const std::uint32_t core : cores.helper_cores) {
        if (!seen.insert(core).second) {
            refuse_core(core, " twice; must have each core once (or auto)");
        } else if (std::ranges::find(cores.input_cores, core) != cores.input_cores.end()) {
            refuse_core(core, ", which cores.input has too; must be another core (or auto)");
        }
    }
}

/// Two polling threads on one core have half of it each, and an input thread that waits for the
/// export thread loses packets.
void check_core_once(const Config& config, const YamlNode& root, Faults& faults) {
    std::map<std::uint32_t, std::size_t> seen;
    const std::vector<std::uint32_t>& cores = config.cores.input_cores;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        if (!seen.emplace(cores[i], i).second) {
            faults.note("cores.input", place_of(root, "cores.input") + ": cores.input has core " +
                                           std::to_string(cores[i]) +
                                           " twice; must have another one for each queue (or "
                                           "auto)");
        }
    }
    for (const std::uint32_t core : config.cores.export_cores) {
        if (seen.contains(core)) {
            faults.note("cores.export",
                        place_of(root, "cores.export") + ": cores.export is " +
                            std::to_string(core) +
                            ", which cores.input has too; must be another core (or auto)");
        }
    }
}

void check_cores(const Config& config, const YamlNode& root, Faults& faults) {
    if (faults.is_unread("cores") || faults.is_unread("inputs")) {
        return;
    }
    check_core_once(config, root, faults);
    check_helper_cores(config.cores, root, faults);
    std::size_t queues = 0;
    for (const InputOptions& input : config.inputs) {
        queues += input.queues;
    }
    const std::size_t cores = config.cores.input_cores.size();
    if (cores != 0 && cores != queues) {
        faults.note("cores.input", place_of(root, "cores.input") + ": cores.input has " +
                                       std::to_string(cores) + " cores; must be " +
                                       std::to_string(queues) +
                                       ", one for each queue of the inputs (or auto)");
    }
}

/// Biflows are those of the main table, or of a declared one.
void check_initiator(const Config& config, const YamlNode& root, Faults& faults) {
    const bool has_biflows = config.flows.direction == FlowDirection::biflow ||
                             faults.is_unread("tables") ||
                             std::ranges::any_of(config.tables, [](const TableDeclaration& table) {
                                 return table.direction == FlowDirection::biflow;
                             });
    Section(root, "flows", faults)
        .demand("initiator-by-port", !config.flows.initiator_by_port || has_biflows,
                " is true, but flows.direction is uniflow; must be false (or flows.direction "
                "biflow)");
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
        const bool has_usual_port = collector.transport != TransportKind::file &&
                                    collector.transport != TransportKind::kafka &&
                                    collector.format == RecordFormatKind::ipfix;
        if (collector.port == 0 && has_usual_port) {
            collector.port = collector.transport == TransportKind::tls ? kIpfixTlsPort : kIpfixPort;
        }
    }
}

void check_flows(const Config& config, const YamlNode& root, Faults& faults) {
    const Section section(root, "flows", faults);
    section.demand("tunnel-in-key",
                   config.flows.key.extension != KeyExtension::tunnel ||
                       config.flows.tunnel != TunnelMode::outer,
                   " is true, but flows.tunnel is outer; must be false (or flows.tunnel inner)");
}

void check_export(const Config& config, const YamlNode& root, Faults& faults) {
    constexpr std::uint32_t kReverse = 29'305;
    constexpr std::uint32_t kNtop = 35'632;
    const Section section(root, "export", faults);
    section.demand("enterprise-number", config.export_.enterprise_number != kReverse,
                   " is 29305; must be another one (it means reverse elements, RFC 5103)");
    section.demand("enterprise-number", config.export_.enterprise_number != kNtop,
                   " is 35632; must be another one (it is ntop's, whose elements mean other "
                   "things)");
    section.demand("ntop-elements",
                   !config.export_.ntop_elements || config.flows.tcp_analysis ||
                       faults.is_unread("flows.tcp-analysis"),
                   " is true, but flows.tcp-analysis is false; must be false (or "
                   "flows.tcp-analysis true)");
    const RecordLayout layout = layout_of_flows(config.export_.fields, config.flows);
    section.demand("fields", layout.bytes <= kLargestRecord,
                   " needs records of " + std::to_string(layout.bytes) +
                       " octets; must be groups of at most " + std::to_string(kLargestRecord) +
                       " octets together, with the core's");
    section.demand("fields", record_kinds(layout) <= kMostRecordKinds,
                   " makes " + std::to_string(record_kinds(layout)) +
                       " kinds of records, each with a template; must be groups that make at "
                       "most " +
                       std::to_string(kMostRecordKinds));
}

void check_read(const Config& config, const YamlNode& root, Faults& faults) {
    check_selection(config.read, Section(root, "read", faults));
}

void check_offline(const Config& config, const YamlNode& root, Faults& faults) {
    check_initiator(config, root, faults);
    if (config.read.parse == ParseMode::unified_header) {
        check_unified_headers(config, "read.parse", root, faults);
    }
}

void check_preparse(const Config& config, const YamlNode& root) {
    if (config.flows.key.extension == KeyExtension::tunnel) {
        refuse(place_of(root, "flows.tunnel-in-key"),
               "flows.tunnel-in-key is true, but tributary preparse makes no flows; must be false "
               "(unified headers do not carry tunnels, so no receiver can tell them apart)");
    }
}

void check_preparse_device(const Config& config, const YamlNode& root, Faults& faults) {
    if (config.inputs.size() > 1) {
        refuse(place_of(root, "inputs.1"),
               "inputs has " + std::to_string(config.inputs.size()) +
                   " items; must be one (--from is it, and tributary preparse takes no other)");
    }
    for (const InputOptions& input : config.inputs) {
        demand_parser(input.parse, "inputs.0.parse", root);
    }
    check_inputs(config, root, faults);
    check_cores(config, root, faults);
}

void check_preparse_captures(const Config& config, const YamlNode& root) {
    if (!config.inputs.empty()) {
        refuse(place_of(root, "inputs"),
               "inputs is given, but packets come from captures; must be left out (read.* are the "
               "keys for --read)");
    }
    demand_parser(config.read.parse, "read.parse", root);
}

void check_probe(const Config& config, const YamlNode& root, Faults& faults) {
    check_initiator(config, root, faults);
    check_inputs(config, root, faults);
    check_collectors(config, root, faults);
    check_cores(config, root, faults);
}

}  // namespace tributary
