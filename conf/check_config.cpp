// SPDX-License-Identifier: Apache-2.0
#include "conf/check_config.hpp"

#include <map>
#include <string>

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
    }
}

void check_collector(const CollectorOptions& collector, const YamlNode& root) {
    const auto demand = [&root](const char* key, bool is_good, const char* what) {
        const std::string path = std::string("export.collectors.0.") + key;
        if (!is_good) {
            refuse(place_of(root, path), path + what);
        }
    };
    if (collector.transport == TransportKind::file) {
        demand("path", !collector.path.empty(),
               " is missing; must be the path of the file to write (transport is file)");
        demand("host", collector.host.empty(),
               " is given, but transport is file; must be left out (or transport udp or tcp)");
        demand("source-address", collector.source_address.empty(),
               " is given, but transport is file; must be left out (or transport udp or tcp)");
        return;
    }
    demand("host", !collector.host.empty(),
           " is missing; must be the collector's name or address (or transport must be file)");
    demand("path", collector.path.empty(),
           " is given, but transport is not file; must be left out (or transport file)");
}

void check_collectors(const Config& config, const YamlNode& root) {
    const std::size_t count = config.export_.collectors.size();
    if (count == 0) {
        refuse(place_of(root, "export.collectors"),
               "export.collectors is empty; must have one item (such as {host: 192.0.2.1})");
    }
    if (count > 1) {
        refuse(place_of(root, "export.collectors.1"),
               "export.collectors has " + std::to_string(count) +
                   " items, and more than one is not supported by this version; must be one item");
    }
    check_collector(config.export_.collectors.front(), root);
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

void check_probe(const Config& config, const YamlNode& root) {
    check_inputs(config, root);
    check_collectors(config, root);
    check_cores(config, root);
}

}  // namespace tributary
