// SPDX-License-Identifier: Apache-2.0
#include "conf/load_config.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "conf/check_config.hpp"
#include "conf/config_warnings.hpp"
#include "conf/keys.hpp"
#include "conf/overrides.hpp"
#include "conf/scalars.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {
namespace {

void remove_key(YamlNode& map, std::string_view key) {
    std::erase_if(map.entries, [key](const YamlEntry& entry) { return entry.key == key; });
}

void remove_inputs(YamlNode& root) { remove_key(root, "inputs"); }

void remove_collectors(YamlNode& root) {
    if (YamlNode* exporting = find(root, "export")) {
        remove_key(*exporting, "collectors");
    }
}

void check_use(Config& config, const YamlNode& root, ConfigUse use, Faults& faults) {
    switch (use) {
        case ConfigUse::probe:
            complete_inputs(config);
            complete_collectors(config);
            check_probe(config, root, faults);
            break;
        case ConfigUse::offline:
            check_offline(config, root, faults);
            break;
        case ConfigUse::preparse_device:
            complete_inputs(config);
            check_preparse(config, root);
            check_preparse_device(config, root, faults);
            break;
        case ConfigUse::preparse_captures:
            check_preparse(config, root);
            check_preparse_captures(config, root);
    }
}

LoadedConfig load_tree(YamlNode root, std::span<const std::string> sets, ConfigUse use,
                       const FurtherCheck& further, Faults faults = {}) {
    for (const std::string& set : sets) {
        faults.in("--set " + set, [&] { apply_set(root, set); });
    }
    if (use == ConfigUse::offline) {
        remove_inputs(root);
    }
    if (use != ConfigUse::probe) {
        remove_collectors(root);
    }
    LoadedConfig loaded;
    faults.in({}, [&] { read_section(root, {}, config_keys(), loaded.config, faults); });
    faults.end_of_reading();
    check_flows(loaded.config, root, faults);
    check_export(loaded.config, root, faults);
    check_read(loaded.config, root, faults);
    faults.in({}, [&] { check_use(loaded.config, root, use, faults); });
    if (further) {
        faults.in({}, [&] { further(loaded.config, root, faults); });
    }
    faults.raise();
    loaded.warnings = warnings_about(loaded.config);
    loaded.source = std::move(root);
    return loaded;
}

YamlNode text_value(const std::string& text, const std::string& place) {
    return {.kind = YamlNode::Kind::scalar, .text = text, .place = place, .entries = {}};
}

YamlNode read_yaml(std::istream& text, const std::string& name, Faults& faults) {
    std::string all(kLongestYaml + 1, '\0');  // one octet more tells that it is too long
    text.read(all.data(), static_cast<std::streamsize>(all.size()));
    all.resize(static_cast<std::size_t>(text.gcount()));
    return parse_yaml(all, {.name = name, .has_lines = true}, {}, faults);
}

YamlNode read_yaml_file(const std::string& path, Faults& faults) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (file) {
        file.peek();  // a directory opens well, and fails at the first read
    }
    if (file.bad() || !file.is_open()) {
        const std::string reason = std::generic_category().message(errno);
        refuse(path, "the configuration cannot be read: " + reason +
                         " (--config FILE names another, -i and -n need none)");
    }
    return read_yaml(file, path, faults);
}

YamlNode nothing_given() {
    return {.kind = YamlNode::Kind::map, .text = {}, .place = "command line", .entries = {}};
}

}  // namespace

LoadedConfig load_config(std::istream& text, const std::string& name,
                         std::span<const std::string> sets, ConfigUse use,
                         const FurtherCheck& further) {
    Faults faults;
    YamlNode root = read_yaml(text, name, faults);
    return load_tree(std::move(root), sets, use, further, std::move(faults));
}

LoadedConfig load_config_file(const std::string& path, std::span<const std::string> sets,
                              ConfigUse use, const FurtherCheck& further) {
    Faults faults;
    YamlNode root = read_yaml_file(path, faults);
    return load_tree(std::move(root), sets, use, further, std::move(faults));
}

LoadedConfig preparse_config(const std::string& path, const std::optional<std::string>& device,
                             std::span<const std::string> sets, const FurtherCheck& further) {
    Faults faults;
    YamlNode root = path.empty() ? nothing_given() : read_yaml_file(path, faults);
    remove_inputs(root);
    if (!device) {
        return load_tree(std::move(root), sets, ConfigUse::preparse_captures, further,
                         std::move(faults));
    }
    assign(root, "inputs.0.device", text_value(*device, "--from " + shown(*device)));
    return load_tree(std::move(root), sets, ConfigUse::preparse_device, further, std::move(faults));
}

LoadedConfig quick_config(const std::string& device, const std::string& collector,
                          std::span<const std::string> sets, const FurtherCheck& further) {
    const std::string device_place = "-i " + shown(device);
    const std::string collector_place = "-n " + shown(collector);
    const auto address = split_host_and_port(collector);
    if (!address) {
        refuse(collector_place, "this is no address; must be HOST:PORT, [IPV6]:PORT or HOST");
    }
    YamlNode root = nothing_given();
    assign(root, "inputs.0.device", text_value(device, device_place));
    assign(root, "export.collectors.0.host", text_value(address->host, collector_place));
    if (!address->port.empty()) {
        assign(root, "export.collectors.0.port", text_value(address->port, collector_place));
    }
    return load_tree(std::move(root), sets, ConfigUse::probe, further);
}

}  // namespace tributary
