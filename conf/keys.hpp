// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/config.hpp"
#include "conf/key.hpp"

namespace tributary {

/// The table of all keys: name, limits, help, member.
[[nodiscard]] std::vector<Key<Config>> config_keys();

/// Every key with its value in this configuration.
[[nodiscard]] std::vector<Setting> settings_of(const Config& config);

}  // namespace tributary
