// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "conf/load_config.hpp"

namespace tributary {

/// Tries the filters of a configuration, without asking a resolver for host names in them.
///
/// @param root    of what the configuration was read from
/// @param faults  gets those that libpcap does not understand
/// @thread        main
void check_filters(const Config& config, const YamlNode& root, Faults& faults);

/// Refuses the filter of an input.
///
/// @param words  libpcap's, or why a host name has no address
/// @errors       ConfigError, always
[[noreturn]] void refuse_filter(const LoadedConfig& loaded, std::size_t input,
                                const std::string& words);

}  // namespace tributary
