// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/options.hpp"
#include "export/options.hpp"
#include "flowcache/options.hpp"

namespace tributary {

struct TelemetryOptions {
    std::string listen = "127.0.0.1:9477";  ///< HOST:PORT
};

/// Everything that the configuration says. Each module's own options hold its defaults.
struct Config {
    std::vector<InputOptions> inputs;
    FlowCacheOptions flows;
    ExportOptions export_;  // NOLINT(readability-identifier-naming): `export` is a keyword
    CoreOptions cores;
    ReadOptions read;
    TelemetryOptions telemetry;
};

}  // namespace tributary
