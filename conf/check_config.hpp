// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// Gives inputs without name or interface index theirs: the device, and the position from 1.
void complete_inputs(Config& config);
/// Gives collectors without a port that of their transport.
void complete_collectors(Config& config);

// What these checks find goes into `faults`, as far as the values in question could be read; those
// without it throw ConfigError.

/// Checks what no key of `flows` can say alone; live and offline.
///
/// @param root  what the configuration was read from, for the places in messages
/// @thread      any; pure
void check_flows(const Config& config, const YamlNode& root, Faults& faults);

/// Checks what the limits of no key of `export` can say.
///
/// @thread  any; pure
void check_export(const Config& config, const YamlNode& root, Faults& faults);

/// Checks what no key of `read` can say alone.
///
/// @thread  any; pure
void check_read(const Config& config, const YamlNode& root, Faults& faults);

/// Checks what no key can say alone, for a run on captures: their parser can give what is asked
/// for.
///
/// @thread  any; pure
void check_offline(const Config& config, const YamlNode& root, Faults& faults);

/// Checks what no key can say alone, for `tributary preparse`: what is asked for goes into unified
/// headers.
///
/// @errors  ConfigError
/// @thread  any; pure
void check_preparse(const Config& config, const YamlNode& root);

/// The same where packets come from a device: it is the one input, its packets are parsed, and
/// cores fit queues.
///
/// @param config  after complete_inputs()
/// @thread        any; pure
void check_preparse_device(const Config& config, const YamlNode& root, Faults& faults);

/// The same where packets come from captures: they are parsed, and there is no input beside them.
///
/// @errors  ConfigError
/// @thread  any; pure
void check_preparse_captures(const Config& config, const YamlNode& root);

/// Checks what no key can say alone, for a probe: there is an input and a collector, inputs differ,
/// a collector has what its transport needs, and cores fit queues.
///
/// @param config  after complete_inputs()
/// @param root    what the configuration was read from, for the places in messages
/// @thread        any; pure
void check_probe(const Config& config, const YamlNode& root, Faults& faults);

}  // namespace tributary
