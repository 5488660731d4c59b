// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/command_line.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include "daemon/base/standard_streams.hpp"
#include "daemon/cli/tributaryd_app.hpp"

namespace tributary {
namespace {

constexpr const char* kVersion = "tributaryd " TRIBUTARY_VERSION " (DPDK " TRIBUTARY_DPDK_VERSION
                                 ", libfixbuf " TRIBUTARY_FIXBUF_VERSION ")\n";

[[noreturn]] void refuse_usage(const std::string& message) {
    throw UsageError(message + " (see tributaryd --help)");
}

void demand(bool is_good, const std::string& message) {
    if (!is_good) {
        refuse_usage(message);
    }
}

/// Checks options together.
void check_combination(const CLI::App& app, const TributarydWords& words) {
    const auto given = [&app](const char* option) { return app.count(option) != 0; };
    demand(given("--read") || !given("--write"), "--write FILE is given without --read CAPTURE");
    // Checking or printing a configuration writes nothing.
    const bool has_output =
        given("--write") || given("-n") || given("--export") || words.command_line.prints_table;
    demand(!given("--read") || has_output || words.is_check || words.is_dump,
           "--read CAPTURE is given without --write FILE, -n COLLECTOR or --export; its flows are "
           "printed only on a terminal, and elsewhere by --write - | tributary flows -");
    demand(!given("--export") || given("--read"), "--export is given without --read CAPTURE");
    demand(!given("--export") || given("--config"), "--export is given without --config FILE");
    demand(!given("--export") || !given("-n"),
           "--export and -n exclude each other: collectors come from the configuration or from the "
           "command line");
    demand(!given("-i") || given("-n"), "-i DEVICE is given without -n COLLECTOR");
    demand(!given("-n") || given("-i") || given("--read"),
           "-n COLLECTOR is given without -i DEVICE or --read CAPTURE");
    demand(!given("-i") || !given("--config"),
           "-i and -n take the place of --config; give one or the other");
    demand(!given("-i") || !given("--read"),
           "-i and --read exclude each other: packets come from a device or from captures");
    demand(!words.is_check || !words.is_dump,
           "--check-config and --dump-config exclude each other");
    for (const char* option : {"--config", "-i", "-n", "--write", "--stats"}) {
        const std::vector<std::string>& values = app.get_option(option)->results();
        demand(std::ranges::none_of(values, &std::string::empty),
               std::string(option) + " is empty");
    }
    for (const std::string& set : words.command_line.sets) {
        const std::size_t equals = set.find('=');
        demand(equals != std::string::npos && equals != 0,
               "--set " + shown(set) + " is not KEY=VALUE");
    }
}

CommandLine::Task task_of(const TributarydWords& words) {
    if (words.is_check) {
        return CommandLine::Task::check_config;
    }
    if (words.is_dump) {
        return CommandLine::Task::dump_config;
    }
    return words.command_line.captures.empty() ? CommandLine::Task::probe
                                               : CommandLine::Task::offline;
}

std::optional<LogLevel> log_level_of(const CLI::App& app, const TributarydWords& words) {
    if (app.count("--log-level") == 0) {
        return std::nullopt;
    }
    const auto level = log_levels().find(words.log_level);
    demand(level != log_levels().end(), "--log-level is " + shown(words.log_level) +
                                            "; must be trace, debug, info, warn or error");
    return level->second;
}

CommandLine answer(std::string text) {
    CommandLine line;
    line.task = CommandLine::Task::answer;
    line.answer = std::move(text);
    return line;
}

/// CLI11's message may quote arguments of several lines.
std::string one_line(const CLI::ParseError& error) {
    const std::string text = error.what();
    return shown(text.substr(0, text.find('\n')));
}

}  // namespace

const std::map<std::string, LogLevel>& log_levels() {
    static const std::map<std::string, LogLevel> levels(kLogLevels.begin(), kLogLevels.end());
    return levels;
}

CommandLine parse_command_line(std::span<const char* const> arguments, bool is_terminal) {
    CLI::App app;
    TributarydWords words;
    define_tributaryd(app, words);
    try {
        app.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::CallForHelp&) {
        return answer(app.help());
    } catch (const CLI::ParseError& error) {
        refuse_usage(one_line(error));
    }
    if (words.is_version) {
        return answer(kVersion);
    }
    CommandLine& line = words.command_line;
    // Other output on standard output does not matter here: --stats alone requests output, but no
    // records.
    line.prints_table = is_terminal && !line.captures.empty() && line.output.empty() &&
                        line.collectors.empty() && !line.exports && line.stats_path.empty();
    check_combination(app, words);
    demand(
        !is_terminal || line.output != "/dev/stdout",
        "--write - would write IPFIX to the terminal; without it the flows are shown as a table");
    line.task = task_of(words);
    line.log_level = log_level_of(app, words);
    line.stats_interval = std::chrono::seconds(words.stats_interval);
    const bool has_collectors = line.exports || !line.collectors.empty();
    line.use = line.captures.empty() ? ConfigUse::probe
               : has_collectors      ? ConfigUse::captures_to_collectors
                                     : ConfigUse::offline;
    if (line.config_path.empty() && line.device.empty() && line.captures.empty()) {
        line.config_path = kDefaultConfig;
    }
    return std::move(words.command_line);
}

LoadedConfig load_config(const CommandLine& command_line, const FurtherCheck& further) {
    if (!command_line.device.empty()) {
        return quick_config(command_line.device, command_line.collectors, command_line.sets,
                            further);
    }
    if (command_line.use == ConfigUse::captures_to_collectors && !command_line.exports) {
        return captures_config(command_line.config_path, command_line.collectors, command_line.sets,
                               further);
    }
    if (!command_line.config_path.empty()) {
        return load_config_file(command_line.config_path, command_line.sets, command_line.use,
                                further);
    }
    std::istringstream nothing;
    return load_config(nothing, "command line", command_line.sets, command_line.use, further);
}

std::vector<FileUse> files_of_run(const CommandLine& command_line, const Config& config) {
    std::vector<FileUse> files{
        {.what = "--write", .path = command_line.output, .is_written = true},
        {.what = "--stats",
         .path = or_standard_output(command_line.stats_path),
         .is_written = true},
        {.what = "log.file", .path = config.log.file, .is_written = true},
        {.what = "the configuration", .path = command_line.config_path, .is_written = false}};
    if (config.control.socket != "auto") {
        files.push_back(
            {.what = "control.socket", .path = config.control.socket, .is_written = true});
    }
    for (const std::string& capture : command_line.captures) {
        files.push_back({.what = "a capture to be read", .path = capture, .is_written = false});
    }
    return files;
}

}  // namespace tributary
