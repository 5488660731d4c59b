// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "conf/load_config.hpp"

namespace tributary {

/// The path of the key of an input's filter.
[[nodiscard]] std::string filter_path(std::size_t input);
/// The same of a declared table.
[[nodiscard]] std::string table_filter_path(std::size_t table);
/// The path of `when` of a field of the user's own.
[[nodiscard]] std::string field_filter_path(std::size_t field);

/// How each filter is run, by the path of its key, in words of PacketFilter::execution().
using FilterExecutions = std::map<std::string, std::string>;

/// Checks the filters of a configuration, of its inputs, captures, tables and own fields, without
/// asking a resolver for their host names.
///
/// @param root    of the configuration's text
/// @param faults  gets the filters that libpcap refuses
/// @return        how this process would run the others for Ethernet frames; a probe may be
///                forbidden what this process may do
/// @thread        main
FilterExecutions check_filters(const Config& config, const YamlNode& root, Faults& faults);

/// Refuses a filter.
///
/// @param path    of its key in the configuration
/// @param filter  its expression
/// @param words   libpcap's message, or why a host name has no address
/// @errors        ConfigError, always
[[noreturn]] void refuse_filter(const LoadedConfig& loaded, const std::string& path,
                                const std::string& filter, const std::string& words);

}  // namespace tributary
