// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/key.hpp"
#include "conf/yaml_tree.hpp"
#include "daemon/base/options.hpp"

namespace tributary {

/// The keys of `recorder`.
[[nodiscard]] std::vector<Key<RecorderOptions>> recorder_keys();

/// Checks the recorder of a probe against its inputs.
///
/// @param root    the configuration's text, for the places in messages
/// @param faults  receives a line for each
/// @thread        any; pure
void check_recorder(const Config& config, const YamlNode& root, Faults& faults);

/// Keys of the recorder that have no effect.
[[nodiscard]] std::vector<std::string> recorder_warnings(const Config& config);

}  // namespace tributary
