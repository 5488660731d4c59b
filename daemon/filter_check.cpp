// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter_check.hpp"

#include "daemon/packet_filter.hpp"

namespace tributary {
namespace {

[[noreturn]] void refuse_at(const LoadedConfig& loaded, const std::string& path,
                            const std::string& filter, const std::string& words) {
    refuse(place_of(loaded.source, path), path + " is " + shown(filter) +
                                              "; must be a filter expression in pcap syntax (" +
                                              shown(words) + ")");
}

/// That a filter compiles only libpcap can tell, which conf/ does not know.
void check_filter(const LoadedConfig& loaded, const std::string& path, const std::string& filter) {
    if (filter.empty()) {
        return;
    }
    try {
        static_cast<void>(PacketFilter::check(filter));
    } catch (const PacketFilterError& error) {
        refuse_at(loaded, path, filter, error.what());
    }
}

std::string path_of(std::size_t input) { return "inputs." + std::to_string(input) + ".filter"; }

}  // namespace

void check_filters(const LoadedConfig& loaded) {
    for (std::size_t input = 0; input < loaded.config.inputs.size(); ++input) {
        check_filter(loaded, path_of(input), loaded.config.inputs[input].filter);
    }
    check_filter(loaded, "read.filter", loaded.config.read.filter);
}

void refuse_filter(const LoadedConfig& loaded, std::size_t input, const std::string& words) {
    refuse_at(loaded, path_of(input), loaded.config.inputs[input].filter, words);
}

}  // namespace tributary
