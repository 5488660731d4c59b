// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "conf/config.hpp"

namespace tributary {

/// A configuration as YAML with every key; load_config() makes the same of it again.
[[nodiscard]] std::string dump_config(const Config& config);

/// The page that explains every key (docs/configuration.md), in Markdown.
[[nodiscard]] std::string key_reference();

}  // namespace tributary
