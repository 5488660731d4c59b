// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tributary::perf {

/// What a comparison of kinds of pipelines is run with.
struct KindsSettings {
    std::vector<std::uint32_t> flows{};  ///< each a measurement of its own
    std::uint64_t packets = 16'000'000;  ///< per round, and at least one per flow
    double new_per_second = 0;
    int rounds = 5;
    bool check_only = false;
};

/// The body of a program that compares kinds of pipelines: it checks them, and then measures them
/// with each number of flows. Writes an array of JSON, an item for each of these.
///
/// @param settings  the defaults of the options
/// @param subject   of the program, for --help
/// @param checks    what --check does alone, likewise
/// @param check     throws where records are wrong
/// @param measure   called with a number of flows and the settings; returns JSON
/// @return          exit code
template <class Check, class Measure>
int run_kinds(int argc, char** argv, KindsSettings settings, const std::string& subject,
              const std::string& checks, Check check, Measure measure) {
    CLI::App app(subject);
    app.add_flag("--check", settings.check_only, checks);
    app.add_option("--flows", settings.flows, "numbers of flows");
    app.add_option("--packets", settings.packets, "per round, and at least one per flow");
    app.add_option("--new", settings.new_per_second, "new flows per second, a share");
    app.add_option("--rounds", settings.rounds, "of which the median is taken");
    CLI11_PARSE(app, argc, argv);
    check();
    if (settings.check_only) {
        return EXIT_SUCCESS;
    }
    auto json = nlohmann::ordered_json::array();
    for (const std::uint32_t flows : settings.flows) {
        json.push_back(measure(flows, settings));
        std::cerr << json.back().dump() << "\n";  // to follow the progress
    }
    std::cout << json.dump(2) << "\n";
    return EXIT_SUCCESS;
}

}  // namespace tributary::perf
