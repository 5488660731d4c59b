// SPDX-License-Identifier: Apache-2.0
#include "conf/load_config.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "conf/check_config.hpp"
#include "conf/keys.hpp"
#include "conf/overrides.hpp"
#include "conf/scalars.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {
namespace {

void remove_key(YamlNode& map, std::string_view key) {
    std::erase_if(map.entries, [key](const YamlEntry& entry) { return entry.key == key; });
}

std::vector<std::string> warnings_about(const YamlNode& root) {
    const YamlNode* telemetry = find(root, "telemetry");
    if (telemetry != nullptr && find(*telemetry, "listen") != nullptr) {
        return {"telemetry.listen is set, but this version serves no telemetry"};
    }
    return {};
}

LoadedConfig load_tree(YamlNode root, std::span<const std::string> sets, ConfigUse use) {
    for (const std::string& set : sets) {
        apply_set(root, set);
    }
    if (use == ConfigUse::offline) {
        remove_key(root, "inputs");
        if (YamlNode* exporting = find(root, "export")) {
            remove_key(*exporting, "collectors");
        }
    }
    LoadedConfig loaded;
    read_section(root, {}, config_keys(), loaded.config);
    if (use == ConfigUse::probe) {
        complete_inputs(loaded.config);
        check_probe(loaded.config, root);
    }
    loaded.warnings = warnings_about(root);
    return loaded;
}

YamlNode text_value(const std::string& text, const std::string& place) {
    return {.kind = YamlNode::Kind::scalar, .text = text, .place = place, .entries = {}};
}

}  // namespace

LoadedConfig load_config(std::istream& text, const std::string& name,
                         std::span<const std::string> sets, ConfigUse use) {
    std::string all(kLongestYaml + 1, '\0');  // one octet more tells that it is too long
    text.read(all.data(), static_cast<std::streamsize>(all.size()));
    all.resize(static_cast<std::size_t>(text.gcount()));
    return load_tree(parse_yaml(all, {.name = name, .has_lines = true}, {}), sets, use);
}

LoadedConfig load_config_file(const std::string& path, std::span<const std::string> sets,
                              ConfigUse use) {
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
    return load_config(file, path, sets, use);
}

LoadedConfig quick_config(const std::string& device, const std::string& collector,
                          std::span<const std::string> sets) {
    const std::string device_place = "-i " + shown(device);
    const std::string collector_place = "-n " + shown(collector);
    const auto address = split_host_and_port(collector);
    if (!address) {
        refuse(collector_place, "this is no address; must be HOST:PORT, [IPV6]:PORT or HOST");
    }
    YamlNode root{.kind = YamlNode::Kind::map, .text = {}, .place = "command line", .entries = {}};
    assign(root, "inputs.0.device", text_value(device, device_place));
    assign(root, "export.collectors.0.host", text_value(address->host, collector_place));
    if (!address->port.empty()) {
        assign(root, "export.collectors.0.port", text_value(address->port, collector_place));
    }
    return load_tree(std::move(root), sets, ConfigUse::probe);
}

}  // namespace tributary
