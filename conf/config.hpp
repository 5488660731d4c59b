// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/options.hpp"
#include "export/options.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/table/own_field.hpp"
#include "flowcache/table/table_declaration.hpp"

namespace tributary {

struct TelemetryOptions {
    std::string listen = "127.0.0.1:9477";  ///< HOST:PORT
    bool dpdk = false;                      ///< also answers DPDK's telemetry socket
};

struct ControlOptions {
    std::string socket = "auto";  ///< a path; empty: no socket
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
    std::string file;                                    ///< empty: standard error
    std::uint64_t max_octets = std::uint64_t{1} << 24U;  ///< of a file, before the next begins
    std::uint32_t max_files = 5;                         ///< including the present one
};

/// The whole configuration. Each module's own options hold its defaults.
struct Config {
    std::vector<InputOptions> inputs;
    FlowCacheOptions flows;
    ExportOptions export_;  // NOLINT(readability-identifier-naming): `export` is a keyword
    CoreOptions cores;
    ReadOptions read;
    TelemetryOptions telemetry;
    ControlOptions control;
    LogOptions log;
    std::vector<OwnField> fields;          ///< of the user's own, for tables and listings
    std::vector<TableDeclaration> tables;  ///< beside the main one
    RecorderOptions recorder;
    std::vector<TriggerOptions> triggers;
};

}  // namespace tributary
