// SPDX-License-Identifier: Apache-2.0
#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "conf/config_error.hpp"
#include "daemon/base/standard_streams.hpp"
#include "daemon/cli/tributary_app.hpp"
#include "export/listing/printable_text.hpp"

namespace {

/// CLI11 drops an empty word behind the words of `--read`, or hangs on it.
bool has_empty_word_for_preparse(std::span<char* const> words) {
    const auto is_empty = [](const char* word) { return *word == '\0'; };
    return words.size() > 1 && std::string_view(words[1]) == "preparse" &&
           std::ranges::any_of(words, is_empty);
}

/// CLI11 reports an unknown command only as a missing one.
bool is_unknown_command(const CLI::App& app, const std::string& word) {
    const auto is_it = [&word](const CLI::App* command) { return command->get_name() == word; };
    return !word.empty() && word.front() != '-' &&
           std::ranges::none_of(app.get_subcommands({}), is_it);
}
std::string names_of_commands(const CLI::App& app) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands({})) {
        names += (names.empty() ? "" : ", ") + command->get_name();
    }
    return names;
}

int run(int argc, char** argv) {
    if (has_empty_word_for_preparse({argv, static_cast<std::size_t>(argc)})) {
        std::cerr << "tributary preparse: an argument is empty\n";
        return EX_USAGE;
    }
    CLI::App app;
    tributary::TributaryArguments arguments;
    tributary::define_tributary(app, arguments);
    if (argc > 1 && is_unknown_command(app, argv[1])) {
        std::cerr << "tributary: " << tributary::shown(argv[1]) << " is no command; must be one of "
                  << names_of_commands(app) << '\n';
        return EX_USAGE;
    }
    try {
        app.parse(argc, argv);
        if (app.got_subcommand("plan")) {
            return tributary::run_plan_command(arguments.plan);
        }
        if (app.got_subcommand("preparse")) {
            return tributary::run_preparse_command(arguments.preparse);
        }
        if (app.got_subcommand("flows")) {
            return tributary::run_flows_command(*app.get_subcommand("flows"), arguments.flows);
        }
        return tributary::run_control_command(app, arguments.control).value_or(EX_USAGE);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? tributary::end_output("tributary") : EX_USAGE;
    } catch (const tributary::FilterError& error) {
        std::cerr << "tributary: " << tributary::printable(error.what()) << '\n';
        return EX_USAGE;
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        std::ios::sync_with_stdio(false);
        // When a pager closes early, the failed write ends the listing.
        std::signal(SIGPIPE, SIG_IGN);
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tributary: %s\n", error.what());
        return EX_SOFTWARE;
    }
}
