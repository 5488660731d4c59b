// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// Completes inputs without name or interface index: the device, and the position from 1.
void complete_inputs(Config& config);
/// Gives collectors without a port their transport's.
void complete_collectors(Config& config);

// These checks put faults into `faults`, if the values could be read; those without `faults` throw
// ConfigError.

/// Checks the keys of `flows` together; live and offline.
///
/// @param root  the configuration's text, for the places in messages
/// @thread      any; pure
void check_flows(const Config& config, const YamlNode& root, Faults& faults);

/// Checks the keys of `export` together.
///
/// @thread  any; pure
void check_export(const Config& config, const YamlNode& root, Faults& faults);

/// Checks the keys of `read` together.
///
/// @thread  any; pure
void check_read(const Config& config, const YamlNode& root, Faults& faults);

/// Checks keys together, for a run on captures: their parser must find the exported fields.
///
/// @thread  any; pure
void check_offline(const Config& config, const YamlNode& root, Faults& faults);

/// Checks keys together, for `tributary preparse`: unified headers must have the requested fields.
///
/// @errors  ConfigError
/// @thread  any; pure
void check_preparse(const Config& config, const YamlNode& root);

/// The same for packets from a device: it is the one input, its packets are parsed, and cores fit
/// queues.
///
/// @param config  after complete_inputs()
/// @thread        any; pure
void check_preparse_device(const Config& config, const YamlNode& root, Faults& faults);

/// The same for packets from captures: they are parsed, and there is no other input.
///
/// @errors  ConfigError
/// @thread  any; pure
void check_preparse_captures(const Config& config, const YamlNode& root);

/// Checks keys together, for a probe: it has an input and a collector, inputs differ, a collector
/// has the keys that its transport needs, and cores fit queues.
///
/// @param config  after complete_inputs()
/// @param root    the configuration's text, for the places in messages
/// @thread        any; pure
void check_probe(const Config& config, const YamlNode& root, Faults& faults);

}  // namespace tributary
