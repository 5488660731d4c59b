// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/options.hpp"
#include "export/options.hpp"
#include "flowcache/options.hpp"

namespace tributary {

struct TelemetryOptions {
    std::string listen = "127.0.0.1:9477";  ///< HOST:PORT
};

struct ControlOptions {
    std::string socket = "auto";  ///< a path, or where there is none to be empty
};

enum class LogLevel : std::uint8_t { trace, debug, info, warn, error };
/// By their words.
inline constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLogLevels{
    {{"trace", LogLevel::trace},
     {"debug", LogLevel::debug},
     {"info", LogLevel::info},
     {"warn", LogLevel::warn},
     {"error", LogLevel::error}}};

struct LogOptions {
    LogLevel level = LogLevel::info;
};

/// Everything that the configuration says. Each module's own options hold its defaults.
struct Config {
    std::vector<InputOptions> inputs;
    FlowCacheOptions flows;
    ExportOptions export_;  // NOLINT(readability-identifier-naming): `export` is a keyword
    CoreOptions cores;
    ReadOptions read;
    TelemetryOptions telemetry;
    ControlOptions control;
    LogOptions log;
};

}  // namespace tributary
