// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter/filter_check.hpp"

#include "daemon/filter/packet_filter.hpp"

namespace tributary {
namespace {

[[noreturn]] void refuse_at(const YamlNode& root, const std::string& path,
                            const std::string& filter, const std::string& words) {
    refuse(place_of(root, path), path + " is " + shown(filter) +
                                     "; must be a filter expression in pcap syntax (" +
                                     shown(words) + ")");
}

/// Only libpcap can check a filter, and conf/ does not use libpcap.
std::string check_filter(const YamlNode& root, const std::string& path, const std::string& filter) {
    try {
        return PacketFilter::check(filter).execution;
    } catch (const PacketFilterError& error) {
        refuse_at(root, path, filter, error.what());
    }
}

}  // namespace

std::string filter_path(std::size_t input) { return "inputs." + std::to_string(input) + ".filter"; }

FilterExecutions check_filters(const Config& config, const YamlNode& root, Faults& faults) {
    FilterExecutions executions;
    const auto check = [&](const std::string& path, const std::string& filter) {
        if (!filter.empty()) {
            faults.among(path, [&] { executions[path] = check_filter(root, path, filter); });
        }
    };
    for (std::size_t input = 0; input < config.inputs.size(); ++input) {
        check(filter_path(input), config.inputs[input].filter);
    }
    check("read.filter", config.read.filter);
    return executions;
}

void refuse_filter(const LoadedConfig& loaded, std::size_t input, const std::string& words) {
    refuse_at(loaded.source, filter_path(input), loaded.config.inputs[input].filter, words);
}

}  // namespace tributary
