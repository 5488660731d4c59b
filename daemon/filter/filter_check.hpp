// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "conf/load_config.hpp"

namespace tributary {

/// Checks the filters of a configuration, without asking a resolver for their host names.
///
/// @param root    of the configuration's text
/// @param faults  gets the filters that libpcap refuses
/// @thread        main
void check_filters(const Config& config, const YamlNode& root, Faults& faults);

/// Refuses the filter of an input.
///
/// @param words  libpcap's message, or why a host name has no address
/// @errors       ConfigError, always
[[noreturn]] void refuse_filter(const LoadedConfig& loaded, std::size_t input,
                                const std::string& words);

}  // namespace tributary
