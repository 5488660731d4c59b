// SPDX-License-Identifier: Apache-2.0
#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "daemon/plan_command.hpp"
#include "daemon/preparse_command.hpp"
#include "export/flow_listing.hpp"
#include "export/ip_text.hpp"

namespace {

using tributary::FlowOrder;
using tributary::ListingStatus;

constexpr const char* kFilterHelp =
    "only flows that match; terms are proto NAME|NUMBER, [src|dst] port N[-N],\n"
    "[outer] [src|dst] host ADDRESS, [outer] [src|dst] net ADDRESS/BITS,\n"
    "tunnel KIND|any and tunnel-id N, with and, or, not and (), for example\n"
    "'(src net 10.0.0.0/8 or host 2001:db8::1) and port 53 and not proto tcp'";

struct FlowsArguments {
    tributary::FlowListingOptions options;
    std::string order;
    std::size_t top{};
    std::string filter;
};

CLI::App* add_flows(CLI::App& app, FlowsArguments& arguments) {
    CLI::App* const flows = app.add_subcommand("flows", "Print the flows of IPFIX files");
    flows->add_option("FILE", arguments.options.files, "IPFIX files; '-' is standard input")
        ->required();
    flows->add_flag("--json", arguments.options.json, "JSON lines with IANA element names");
    flows->add_option("--sort", arguments.order, "most octets or packets first")
        ->check(CLI::IsMember({"octets", "packets"}))
        ->option_text("octets|packets");
    flows->add_option("--top", arguments.top, "only the N first by --sort, or by octets")
        ->check([](const std::string& count) {
            const auto number = tributary::parse_number(count, UINT32_MAX);
            return number.value_or(0) == 0 ? "must be a whole number from 1" : std::string();
        })
        ->option_text("N");
    flows->add_option("--filter", arguments.filter, kFilterHelp)->option_text("FILTER");
    return flows;
}

int exit_code(ListingStatus status) {
    switch (status) {
        case ListingStatus::ok:
        case ListingStatus::output_closed:
            return EX_OK;
        case ListingStatus::data_error:
            return EX_DATAERR;
        case ListingStatus::no_input:
            return EX_NOINPUT;
        case ListingStatus::write_failure:
            return EX_IOERR;
    }
    return EX_SOFTWARE;
}

void complain(const std::string& message) { std::cerr << "tributary flows: " << message << '\n'; }

int run_flows(const CLI::App& flows, FlowsArguments& arguments) {
    if (flows.count("--sort") != 0) {
        arguments.options.order =
            arguments.order == "octets" ? FlowOrder::octets : FlowOrder::packets;
    }
    if (flows.count("--top") != 0) {
        arguments.options.top = arguments.top;
    }
    if (flows.count("--filter") != 0) {
        arguments.options.filter = tributary::FlowFilter(arguments.filter);
    }
    const tributary::ListingResult result =
        tributary::list_flows(arguments.options, std::cout, complain);
    if (!result.message.empty()) {
        complain(result.message);
    }
    return exit_code(result.status);
}

/// CLI11 either drops an empty word behind the words of `--read`, or never comes back from it.
bool has_empty_word_for_preparse(std::span<char* const> words) {
    const auto is_empty = [](const char* word) { return *word == '\0'; };
    return words.size() > 1 && std::string_view(words[1]) == "preparse" &&
           std::ranges::any_of(words, is_empty);
}

int run(int argc, char** argv) {
    if (has_empty_word_for_preparse({argv, static_cast<std::size_t>(argc)})) {
        std::cerr << "tributary preparse: an argument is empty\n";
        return EX_USAGE;
    }
    CLI::App app{"The companion of tributaryd: looks into IPFIX files, parses packets for it",
                 "tributary"};
    app.set_version_flag("--version", TRIBUTARY_VERSION);
    app.require_subcommand(1);
    FlowsArguments arguments;
    const CLI::App* const flows = add_flows(app, arguments);
    tributary::PreparseArguments preparse_arguments;
    const CLI::App* const preparse = tributary::add_preparse(app, preparse_arguments);
    tributary::PlanArguments plan_arguments;
    const CLI::App* const plan = tributary::add_plan(app, plan_arguments);
    try {
        app.parse(argc, argv);
        if (plan->parsed()) {
            return tributary::run_plan_command(plan_arguments);
        }
        if (preparse->parsed()) {
            return tributary::run_preparse_command(preparse_arguments);
        }
        return run_flows(*flows, arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? EX_OK : EX_USAGE;
    } catch (const tributary::FilterError& error) {
        complain(error.what());
        return EX_USAGE;
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        std::ios::sync_with_stdio(false);
        // A pager that is closed early ends the listing by a failed write.
        std::signal(SIGPIPE, SIG_IGN);
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tributary: %s\n", error.what());
        return EX_SOFTWARE;
    }
}
