// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/control_commands.hpp"

#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "daemon/base/standard_streams.hpp"
#include "daemon/cli/command_line.hpp"
#include "daemon/cli/config_check.hpp"
#include "daemon/cli/program.hpp"
#include "daemon/control/control_client.hpp"
#include "daemon/control/control_socket.hpp"
#include "daemon/control/top_command.hpp"
#include "daemon/log/log.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

using nlohmann::json;

void add_socket(CLI::App& command, ControlArguments& arguments) {
    command
        .add_option("--socket", arguments.socket,
                    std::string("Control socket of tributaryd (default ") + kControlDirectory +
                        "/" + kControlSocketName + ")")
        ->check([](const std::string& path) {
            return path.empty() ? std::string("must not be empty") : std::string();
        })
        ->option_text("PATH");
    command
        .add_option("--timeout", arguments.timeout,
                    "How long tributaryd may be silent before this fails (default 30)")
        ->check(CLI::Range(1U, 3600U))
        ->option_text("SECONDS");
}

void add_show(CLI::App& app, ControlArguments& arguments) {
    CLI::App* const show = app.add_subcommand("show", "Show what a running tributaryd holds");
    show->require_subcommand(1);
    CLI::App* const flows =
        show->add_subcommand("flows", "Print the flows that run now, while packets go on");
    add_socket(*flows, arguments);
    add_listing_options(*flows, arguments.listing);
    flows
        ->add_option("--table", arguments.listing.table,
                     "those of a declared table, by its name (default main)")
        ->option_text("NAME");
}

void add_top(CLI::App& app, ControlArguments& arguments) {
    CLI::App* const top =
        app.add_subcommand("top", "Watch a running tributaryd: rates, load, losses, collectors");
    add_socket(*top, arguments);
    top->add_option("--interval", arguments.interval, "Between two looks (default 2)")
        ->check(CLI::Range(1U, 3600U))
        ->option_text("SECONDS");
    top->add_option("--count", arguments.count, "End after so many looks; 0: never (default 0)")
        ->option_text("N");
    top->add_option("--flows", arguments.flows,
                    "Show so many flows at most, those that send most now (default 10)")
        ->check(CLI::Range(0U, 1000U))
        ->option_text("N");
}

ControlAnswer ask(const ControlArguments& arguments, const std::string& command) {
    return {arguments.socket, command, std::chrono::seconds(arguments.timeout)};
}

/// The values of a JSON document, a line for each.
///
/// @param has_zeros  false: values that are 0 are left out
std::string lines_of(const nlohmann::ordered_json& value, const std::string& name, bool has_zeros) {
    if (value.is_number() && value == 0 && !has_zeros) {
        return {};
    }
    if (!value.is_structured()) {
        const std::string text = value.is_null() ? "unknown" : value.dump();
        return std::string(name).append("  ").append(text).append("\n");
    }
    std::string lines;
    for (const auto& [key, each] : value.items()) {
        std::string path = name;
        path += path.empty() ? "" : ".";
        path += key;
        lines += lines_of(each, path, has_zeros);
    }
    return lines;
}

/// @return  exit code
int print(const std::string& text, const std::string& command) {
    errno = 0;
    std::cout << text;
    return end_output("tributary " + command);
}

int show_stats(const ControlArguments& arguments) {
    const std::string text = ask(arguments, "stats").text();
    if (arguments.is_json) {
        return print(printable_json(text), "stats");
    }
    const auto ledger = parse_answer<nlohmann::ordered_json>(text);
    return print(printable_lines(lines_of(ledger, {}, arguments.is_all)), "stats");
}

int print_answer(const ControlArguments& arguments, const std::string& command) {
    return print(printable_lines(ask(arguments, command).text()), command);
}

ListingResult list_live_flows(const ControlArguments& arguments, const FlowListingOptions& options,
                              std::ostream& out) {
    const std::string& table = arguments.listing.table;
    ControlAnswer answer = ask(arguments, table.empty() ? "flows" : "flows " + table);
    ListingResult result = list_flow_stream(answer.stream(), arguments.socket, options, out,
                                            [](const std::string&) {});
    if (result.status == ListingStatus::ok || result.status == ListingStatus::data_error) {
        answer.check();
    }
    return result;
}

int watch(const ControlArguments& arguments) {
    return watch_probe({.socket = arguments.socket,
                        .timeout = std::chrono::seconds(arguments.timeout),
                        .interval = std::chrono::seconds(arguments.interval),
                        .count = arguments.count,
                        .flows = arguments.flows});
}

int check(const std::string& path) {
    set_up_log(LogLevel::info);
    CommandLine command_line;
    command_line.task = CommandLine::Task::check_config;
    command_line.config_path = path.empty() ? kDefaultConfig : path;
    try {
        std::cout << check_configuration(command_line);
        return end_output("tributary check");
    } catch (...) {
        return explain_failure("tributary check");
    }
}

/// @return  nullopt: none of these was given
std::optional<int> run_given(const CLI::App& app, ControlArguments& arguments) {
    if (app.got_subcommand("stats")) {
        return show_stats(arguments);
    }
    if (app.got_subcommand("show")) {
        const FlowListingOptions& options = listing_options(
            *app.get_subcommand("show")->get_subcommand("flows"), arguments.listing);
        return explain_listing(list_live_flows(arguments, options, std::cout),
                               "tributary show flows");
    }
    if (app.got_subcommand("top")) {
        return watch(arguments);
    }
    if (app.got_subcommand("dump")) {
        return run_dump(arguments.dump);
    }
    if (app.got_subcommand("trigger")) {
        return run_trigger(arguments.trigger);
    }
    for (const char* const command : {"flush", "reload"}) {
        if (app.got_subcommand(command)) {
            return print_answer(arguments, command);
        }
    }
    return app.got_subcommand("check") ? std::optional(check(arguments.config)) : std::nullopt;
}

}  // namespace

void add_control_commands(CLI::App& app, ControlArguments& arguments) {
    CLI::App* const stats = app.add_subcommand("stats", "Print the ledger of a running tributaryd");
    add_socket(*stats, arguments);
    stats->add_flag("--all", arguments.is_all, "Values that are 0, too");
    stats->add_flag("--json", arguments.is_json, "As --stats of tributaryd writes it");
    add_show(app, arguments);
    add_top(app, arguments);
    add_socket(*app.add_subcommand("flush", "End all flows of a running tributaryd now"),
               arguments);
    add_socket(*app.add_subcommand("reload",
                                   "Have a running tributaryd take its configuration "
                                   "anew; what it cannot take leaves the old one"),
               arguments);
    add_dump(app, arguments.dump);
    add_trigger(app, arguments.trigger);
    CLI::App* const check_config = app.add_subcommand(
        "check", "Judge a configuration of tributaryd: all that is wrong, or what it would run");
    check_config
        ->add_option("CONFIG", arguments.config,
                     "The file (default " + std::string(kDefaultConfig) + ")")
        ->option_text("FILE");
}

std::optional<int> run_control_command(const CLI::App& app, ControlArguments& arguments) {
    if (arguments.socket.empty()) {
        arguments.socket = default_control_socket();
    }
    try {
        return run_given(app, arguments);
    } catch (const ControlFailure& failure) {
        std::cerr << "tributary: " << printable(failure.what()) << '\n';
        return EX_UNAVAILABLE;
    } catch (const json::exception& error) {
        std::cerr << "tributary: " << printable(arguments.socket) << " gives an unknown answer ("
                  << printable(error.what()) << ")\n";
        return EX_PROTOCOL;
    }
}

}  // namespace tributary
