// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// The arguments of `tributary dump`.
struct DumpClientArguments {
    std::string socket;          ///< of the recorder; empty: the default
    std::uint32_t timeout = 30;  ///< longest silence of tributaryd, in seconds
    std::string last = "30s";
    std::string follow = "0";
    std::string filter;
    std::string write;  ///< a path, or -
};

/// The arguments of `tributary trigger`.
struct TriggerClientArguments {
    std::string name;            ///< of the trigger
    std::string socket;          ///< of the recorder; empty: the default
    std::uint32_t timeout = 30;  ///< longest silence of tributaryd, in seconds
    std::string last;            ///< empty: `before` of the trigger
    std::string filter;
};

/// Adds `trigger`.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_trigger(CLI::App& app, TriggerClientArguments& arguments);
/// Fires a trigger of a running tributaryd, and prints the path of the file that it will write.
///
/// @return  exit code
/// @errors  ControlFailure
/// @thread  main
[[nodiscard]] int run_trigger(const TriggerClientArguments& arguments);

/// Adds `dump`.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_dump(CLI::App& app, DumpClientArguments& arguments);

/// Asks a running tributaryd for packets, and writes them. A file has its name only when it is
/// whole. SIGINT and SIGTERM end a dump early, as a whole file.
///
/// @return  exit code
/// @errors  ControlFailure
/// @thread  main
[[nodiscard]] int run_dump(const DumpClientArguments& arguments);

}  // namespace tributary
