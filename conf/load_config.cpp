// SPDX-License-Identifier: Apache-2.0
#include "conf/load_config.hpp"

#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "conf/check_collectors.hpp"
#include "conf/check_config.hpp"
#include "conf/check_tables.hpp"
#include "conf/config_warnings.hpp"
#include "conf/keys.hpp"
#include "conf/overrides.hpp"
#include "conf/recorder_keys.hpp"
#include "conf/scalars.hpp"
#include "conf/trigger_keys.hpp"
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

/// What only flows have.
void remove_tables(YamlNode& root) {
    remove_key(root, "tables");
    remove_key(root, "fields");
    remove_key(root, "triggers");
}

void check_use(Config& config, const YamlNode& root, ConfigUse use, Faults& faults) {
    switch (use) {
        case ConfigUse::probe:
            complete_inputs(config);
            complete_collectors(config);
            check_probe(config, root, faults);
            check_tables_of_inputs(config, root, faults);
            check_recorder(config, root, faults);
            check_triggers_of_probe(config, root, faults);
            break;
        case ConfigUse::offline:
            check_offline(config, root, faults);
            check_tables_of_captures(config, root, faults);
            check_triggers_of_captures(config, root, faults);
            break;
        case ConfigUse::captures_to_collectors:
            complete_collectors(config);
            check_offline(config, root, faults);
            check_collectors(config, root, faults);
            check_tables_of_captures(config, root, faults);
            check_triggers_of_captures(config, root, faults);
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

bool is_of_preparse(ConfigUse use) {
    return use == ConfigUse::preparse_device || use == ConfigUse::preparse_captures;
}

bool is_of_captures(ConfigUse use) {
    return use == ConfigUse::offline || use == ConfigUse::captures_to_collectors;
}

/// The configuration's log file belongs to the probe, which may be running: lines about captures go
/// to standard error, unless the command line names a file.
void keep_own_log(LoadedConfig& loaded, const YamlNode& root, ConfigUse use) {
    if (is_of_captures(use) && !place_of(root, "log.file").starts_with("--set ")) {
        loaded.probe_log = std::exchange(loaded.config.log.file, {});
    }
}

LoadedConfig load_tree(YamlNode root, std::span<const std::string> sets, ConfigUse use,
                       const FurtherCheck& further, Faults faults = {}) {
    for (const std::string& set : sets) {
        faults.in(place_of_set(set), [&] { apply_set(root, set); });
    }
    if (is_of_captures(use)) {
        remove_inputs(root);
    }
    if (use != ConfigUse::probe && use != ConfigUse::captures_to_collectors) {
        remove_collectors(root);
    }
    if (is_of_preparse(use)) {
        remove_tables(root);
    }
    LoadedConfig loaded;
    faults.in({}, [&] { read_section(root, {}, config_keys(), loaded.config, faults); });
    faults.end_of_reading();
    keep_own_log(loaded, root, use);
    complete_tables(loaded.config);
    complete_triggers(loaded.config);
    check_flows(loaded.config, root, faults);
    check_export(loaded.config, root, faults);
    check_read(loaded.config, root, faults);
    check_triggers(loaded.config, root, faults);
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
    std::string all(kLongestYaml + 1, '\0');  // one octet more shows that it is too long
    text.read(all.data(), static_cast<std::streamsize>(all.size()));
    all.resize(static_cast<std::size_t>(text.gcount()));
    return parse_yaml(all, {.name = name, .has_lines = true}, {}, faults);
}

YamlNode read_yaml_file(const std::string& path, Faults& faults) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (file) {
        file.peek();  // a directory opens without error, and fails at the first read
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

/// Makes the argument of -n the collector with this number.
void assign_collector(YamlNode& root, std::size_t number, const std::string& collector) {
    const std::string place = "-n " + shown(collector);
    const std::string key = "export.collectors." + std::to_string(number) + ".";
    std::string_view rest = collector;
    const std::size_t slashes = rest.find("://");
    if (slashes != std::string_view::npos) {
        const std::string_view transport = rest.substr(0, slashes);
        if (transport != "udp" && transport != "tcp" && transport != "tls") {
            refuse(place, shown(std::string(transport)) +
                              ":// is no transport; must be udp://, tcp:// or tls:// (--write FILE "
                              "writes a file)");
        }
        assign(root, key + "transport", text_value(std::string(transport), place));
        rest.remove_prefix(slashes + 3);
    }
    const auto address = split_host_and_port(rest);
    if (!address) {
        refuse(place, "this is no address; must be HOST:PORT, [IPV6]:PORT or HOST");
    }
    assign(root, key + "host", text_value(address->host, place));
    if (!address->port.empty()) {
        assign(root, key + "port", text_value(address->port, place));
    }
}

void assign_collectors(YamlNode& root, std::span<const std::string> collectors) {
    for (std::size_t number = 0; number < collectors.size(); ++number) {
        assign_collector(root, number, collectors[number]);
    }
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

LoadedConfig quick_config(const std::string& device, std::span<const std::string> collectors,
                          std::span<const std::string> sets, const FurtherCheck& further) {
    YamlNode root = nothing_given();
    assign(root, "inputs.0.device", text_value(device, "-i " + shown(device)));
    assign_collectors(root, collectors);
    return load_tree(std::move(root), sets, ConfigUse::probe, further);
}

LoadedConfig captures_config(const std::string& path, std::span<const std::string> collectors,
                             std::span<const std::string> sets, const FurtherCheck& further) {
    Faults faults;
    YamlNode root = path.empty() ? nothing_given() : read_yaml_file(path, faults);
    remove_collectors(root);
    assign_collectors(root, collectors);
    return load_tree(std::move(root), sets, ConfigUse::captures_to_collectors, further,
                     std::move(faults));
}

}  // namespace tributary
