// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter/filter_check.hpp"

#include <utility>
#include <vector>

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

std::string path_of(const char* list, std::size_t index, const char* key) {
    return std::string(list) + "." + std::to_string(index) + "." + key;
}

}  // namespace

std::string filter_path(std::size_t input) { return path_of("inputs", input, "filter"); }

std::string table_filter_path(std::size_t table) { return path_of("tables", table, "filter"); }

std::string field_filter_path(std::size_t field) { return path_of("fields", field, "when"); }

FilterExecutions check_filters(const Config& config, const YamlNode& root, Faults& faults) {
    std::vector<std::pair<std::string, const std::string*>> filters;
    for (std::size_t input = 0; input < config.inputs.size(); ++input) {
        filters.emplace_back(filter_path(input), &config.inputs[input].filter);
    }
    filters.emplace_back("read.filter", &config.read.filter);
    filters.emplace_back("recorder.filter", &config.recorder.filter);
    for (std::size_t field = 0; field < config.fields.size(); ++field) {
        filters.emplace_back(field_filter_path(field), &config.fields[field].when);
    }
    for (std::size_t table = 0; table < config.tables.size(); ++table) {
        filters.emplace_back(table_filter_path(table), &config.tables[table].filter);
    }
    std::erase_if(filters, [](const auto& each) { return each.second->empty(); });
    FilterExecutions executions;
    for (const auto& [path, filter] : filters) {
        faults.among(path, [&executions, &root, &path = path, filter = filter] {
            executions[path] = check_filter(root, path, *filter);
        });
    }
    return executions;
}

void refuse_filter(const LoadedConfig& loaded, const std::string& path, const std::string& filter,
                   const std::string& words) {
    refuse_at(loaded.source, path, filter, words);
}

}  // namespace tributary
