// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/tributaryd_app.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "daemon/base/exit_codes.hpp"
#include "daemon/base/standard_streams.hpp"

namespace tributary {
namespace {

constexpr const char* kDescription =
    "Meters packets into flows and exports them as IPFIX.\n"
    "  tributaryd --config FILE                     as a probe\n"
    "  tributaryd -i DEVICE -n HOST:PORT            as a probe, without a file\n"
    "  tributaryd --read CAPTURE... --write FILE    captures into an IPFIX file\n"
    "  tributaryd --read CAPTURE... -n HOST:PORT    captures to a collector\n"
    "  tributaryd --read CAPTURE...                 on a terminal: prints the flows of captures";

/// Describes the values of --log-level; parse_command_line() refuses others.
std::string one_of_the_levels() {
    std::string words;
    for (const auto& [word, level] : log_levels()) {
        words += (words.empty() ? "{" : ",") + word;
    }
    return words + "}";
}

/// The options of captures.
void define_offline(CLI::App& app, CommandLine& line) {
    app.add_option(
           "--read", line.captures,
           "Meter pcap and pcapng files, also compressed by gzip, xz or zstd, as one stream ('-': "
           "standard input)")
        ->type_name("CAPTURE")
        ->expected(1, -1)
        ->transform(or_standard_input)
        ->group("Offline");
    app.add_option("--write", line.output,
                   "The IPFIX file (RFC 5655) to write; with --read ('-': standard output). "
                   "Without --write, -n and --stats, a terminal gets the flows as a table")
        ->type_name("FILE")
        ->transform(or_standard_output)
        ->group("Offline");
    app.add_flag(
           "--export", line.exports,
           "Send the records to the collectors of the configuration; with --read and --config")
        ->group("Offline");
}

}  // namespace

void define_tributaryd(CLI::App& app, TributarydWords& words) {
    app.name("tributaryd");
    app.description(kDescription);
    CommandLine& line = words.command_line;
    app.add_option("--config", line.config_path,
                   "Configuration (default " + std::string(kDefaultConfig) + ")")
        ->type_name("FILE")
        ->group("Configuration");
    app.add_option("--set", line.sets, "Override one key, such as inputs.0.queues=4; repeatable")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->group("Configuration");
    app.add_flag("--check-config", words.is_check,
                 "Tell all that is wrong with the configuration, or what it would run, then exit")
        ->group("Configuration");
    app.add_flag("--dump-config", words.is_dump, "Print the effective configuration, then exit")
        ->group("Configuration");

    app.add_option("-i", line.device, "Take packets from this device; with -n, instead of a file")
        ->type_name("DEVICE")
        ->group("Probe");
    app.add_option("-n", line.collectors,
                   "Send IPFIX to this collector, by UDP, or as [udp|tcp|tls]://HOST:PORT says; "
                   "repeatable; with -i or --read")
        ->option_text("HOST:PORT")
        ->allow_extra_args(false)
        ->group("Probe");
    define_offline(app, line);

    app.add_option("--stats", line.stats_path,
                   "Write the ledger as JSON at exit ('-': standard output)")
        ->type_name("FILE")
        ->group("Output");
    app.add_option("--stats-interval", words.stats_interval,
                   "Between statistics lines in the log; 0: none (default 60)")
        ->type_name("SECONDS")
        ->group("Output");
    app.add_option("--log-level", words.log_level,
                   "trace, debug, info, warn or error (default: log.level, which is info)")
        ->option_text("LEVEL")
        ->check(CLI::Validator(one_of_the_levels()))
        ->group("Output");

    app.set_help_flag("--help", "Print this and exit")->group("Other");
    app.add_flag("--version", words.is_version, "Print the version and exit")->group("Other");
    app.footer(exit_code_help(tributaryd_exit_codes()));
}

}  // namespace tributary
