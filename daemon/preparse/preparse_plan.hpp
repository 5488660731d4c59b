// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/base/options.hpp"
#include "daemon/filter/packet_filter.hpp"
#include "daemon/machine/device.hpp"
#include "daemon/machine/placement.hpp"
#include "daemon/machine/topology.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/packet_pool.hpp"
#include "daemon/preparse/preparse.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/parse_options.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// How the packets of the one input, or of the captures, are parsed.
struct PreparseInput {
    ParseOptions parse;
    SamplingOptions sampling;
    std::string filter;
    FilterLinks links{};
    InterfaceIndex ingress_interface{};
    std::uint16_t streams{};
};

[[nodiscard]] PreparseInput input_of(const PreparseJob& job, const Config& config);

/// The use of DPDK: none, one or both of input and output are devices.
struct PreparsePlan {
    std::optional<InputOptions> input;
    std::optional<OutputOptions> output;
    std::vector<EalDevice> devices;  ///< of the input, then of the output, like `nodes`
    std::vector<NumaNode> nodes;
    std::vector<PoolSize> pools;
    std::optional<PoolSize> heads;  ///< if the input needs head buffers
    CorePlan cores;  ///< a CPU per stream; there is no export thread, only helper threads
};

/// Plans a job on this machine, before any hardware is touched.
///
/// @errors  StartupError(78): input and output are one device; as eal_device() and place_threads()
/// @thread  main
[[nodiscard]] PreparsePlan plan_preparse(const PreparseJob& job, const Config& config,
                                         std::uint16_t streams);

/// Refuses to overwrite captures that are read. DPDK's pcap driver reads and writes files too.
///
/// @errors  StartupError(64): one would be overwritten
void protect_captures(const PreparseJob& job, const Config& config);

/// EAL's options for a plan with devices.
/// @thread  any; pure
[[nodiscard]] EalOptions eal_options(const PreparsePlan& plan);

}  // namespace tributary
