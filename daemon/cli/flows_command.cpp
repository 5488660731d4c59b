// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/flows_command.hpp"

#include <fcntl.h>
#include <sysexits.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <system_error>

#include "export/listing/flow_measure.hpp"
#include "export/listing/printable_text.hpp"
#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

constexpr const char* kFilterHelp =
    "only flows that match: words of pcap filters (tcp, udp port 53, src net 10.0.0.0/8,\n"
    "ip6, vlan 5) and of flows (octets > 1M, duration >= 30s, flags S, reason active,\n"
    "tunnel vxlan, outer host A), with and, or, not and (); docs/filters.md has all, for example\n"
    "'(src net 10.0.0.0/8 or host 2001:db8::1) and udp port 53 and octets > 10k'";

constexpr const char* kProgram = "tributary flows";

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

FlowOrder order_of(const std::string& word) {
    if (ListedCounts().find(word)) {
        return FlowOrder::count;
    }
    return word == "octets"  ? FlowOrder::octets
           : word == "rate"  ? FlowOrder::rate
           : word == "flows" ? FlowOrder::flows
                             : FlowOrder::packets;
}

/// The words of --sort.
std::vector<std::string> orders() {
    std::vector<std::string> words{"octets", "packets", "rate", "flows"};
    for (const ListedCount& count : ListedCounts()) {
        words.emplace_back(count.element->measure);
    }
    return words;
}

Timestamp time_of(const char* option, const std::string& text, Timestamp now) {
    const std::optional<Timestamp> time = parse_time(text, now);
    if (!time) {
        throw CLI::ValidationError(option, "'" + printable(text) +
                                               "': expected a time in UTC such as 2026-02-28 or "
                                               "2026-02-28T12:30:00, or how long ago, such as "
                                               "15m or 1h30m (units: s, m, h, d, w)");
    }
    return *time;
}

FlowWindow window_of(const CLI::App& command, const ListingArguments& arguments) {
    const Timestamp now{std::chrono::system_clock::now().time_since_epoch()};
    FlowWindow window;
    if (command.count("--since") != 0) {
        window.since = time_of("--since", arguments.since, now);
    }
    if (command.count("--until") != 0) {
        window.until = time_of("--until", arguments.until, now);
    }
    if (!window.is_possible()) {
        throw CLI::ValidationError(
            "--since", "'" + printable(arguments.since) + "' is not before --until '" +
                           printable(arguments.until) + "', so no flow can be between them");
    }
    return window;
}

/// @param word  of --format
ListingFormat format_of(const std::string& word) {
    if (word == "json") {
        return ListingFormat::entry_json;
    }
    return word == "csv" ? ListingFormat::csv : ListingFormat::ipfix;
}

int list_to(std::ostream& out, const FlowListingOptions& options) {
    return explain_listing(list_flows(options, out,
                                      [](const std::string& warning) {
                                          std::cerr << kProgram << ": " << warning << '\n';
                                      }),
                           kProgram);
}

/// Creates a file. What exists and is no file, such as a FIFO, is opened. @return  errno; 0: open
int open_new(const std::string& path, std::ofstream& out) {
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::status(path, unknown);
    const bool is_other =
        std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
    if (!is_other) {
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file < 0) {
            return errno;
        }
        ::close(file);
    }
    errno = 0;
    out.open(path, std::ios::binary);
    return out ? 0 : errno;
}

}  // namespace

void add_listing_options(CLI::App& command, ListingArguments& arguments) {
    CLI::Option* const json =
        command.add_flag("--json", arguments.json, "JSON lines with IANA element names");
    command.add_flag("--csv", arguments.csv, "CSV: a header, and one line each")->excludes(json);
    command
        .add_option(
            "--sort", arguments.order,
            "most octets or packets first, most octets per second, of groups most flows, or of "
            "TCP\n"
            "analysis most segments, retransmissions, duplicates, out-of-order, zero-windows")
        ->check(CLI::IsMember(orders()))
        ->option_text(CLI::detail::join(orders(), "|"));
    command.add_option("--top", arguments.top, "only the N first by --sort, or by octets")
        ->check([](const std::string& count) {
            const auto number = parse_number(count, UINT32_MAX);
            return number.value_or(0) == 0 ? "must be a whole number from 1" : std::string();
        })
        ->option_text("N");
    command.add_option("--filter", arguments.filter, kFilterHelp)->option_text("FILTER");
    command
        .add_option("--by", arguments.by,
                    "sums over the flows that agree in these fields, with commas between them:\n" +
                        group_field_names())
        ->option_text("FIELDS");
    command
        .add_option("--since", arguments.since,
                    "only flows that ran then or later: 2026-02-28, 2026-02-28T12:30:00 (UTC), or\n"
                    "how long ago: 30s, 15m, 1h30m, 2d, 1w")
        ->option_text("TIME");
    command.add_option("--until", arguments.until, "only flows that began before then")
        ->option_text("TIME");
}

const FlowListingOptions& listing_options(const CLI::App& command, ListingArguments& arguments) {
    if (command.count("--sort") != 0) {
        arguments.options.order = order_of(arguments.order);
        arguments.options.count = ListedCounts().find(arguments.order).value_or(0);
    }
    if (arguments.options.order == FlowOrder::flows && command.count("--by") == 0) {
        throw CLI::ValidationError(
            "--sort", "flows is given without --by: only groups have a number of flows");
    }
    if (command.count("--top") != 0) {
        arguments.options.top = arguments.top;
    }
    if (command.count("--filter") != 0) {
        arguments.options.filter = FlowFilter(arguments.filter);
    }
    if (command.count("--by") != 0) {
        arguments.options.by = parse_group_fields(arguments.by);
    }
    arguments.options.window = window_of(command, arguments);
    arguments.options.format = arguments.json  ? ListingFormat::json
                               : arguments.csv ? ListingFormat::csv
                                               : ListingFormat::table;
    return arguments.options;
}

int explain_listing(const ListingResult& result, const std::string& program) {
    if (!result.message.empty()) {
        std::cerr << program << ": " << result.message << '\n';
    }
    return exit_code(result.status);
}

void add_flows(CLI::App& app, ListingArguments& arguments) {
    CLI::App* const flows = app.add_subcommand("flows", "Print the flows of IPFIX files");
    flows
        ->add_option("FILE", arguments.options.files,
                     "IPFIX files, also compressed by gzip, xz or zstd, or directories of them;\n"
                     "'-' is standard input")
        ->required();
    add_listing_options(*flows, arguments);
    CLI::Option* const write =
        flows
            ->add_option(
                "--write", arguments.write,
                "writes the flows to a new file instead, as --format says; '-' is standard\n"
                "output. A file that exists is refused")
            ->option_text("FILE")
            ->excludes("--json")
            ->excludes("--csv")
            ->excludes("--by");
    CLI::Option* const format =
        flows
            ->add_option(
                "--format", arguments.write_format,
                "with --write: json, as a collector with format json gets records, csv, or\n"
                "ipfix, the records as they are, not sorted")
            ->check(CLI::IsMember({"json", "csv", "ipfix"}))
            ->option_text("json|csv|ipfix");
    write->needs(format);
    format->needs(write);
}

int run_flows_command(const CLI::App& flows, ListingArguments& arguments) {
    const FlowListingOptions& options = listing_options(flows, arguments);
    if (flows.count("--write") == 0) {
        return list_to(std::cout, options);
    }
    arguments.options.format = format_of(arguments.write_format);
    const bool is_sorted = flows.count("--sort") != 0 || flows.count("--top") != 0;
    if (is_sorted && arguments.options.format == ListingFormat::ipfix) {
        throw CLI::ValidationError(
            "--format", "is ipfix, but --sort or --top is given: records are written as read");
    }
    if (arguments.write == "-") {
        return list_to(std::cout, options);
    }
    std::ofstream out;
    if (const int error = open_new(arguments.write, out); error != 0) {
        std::cerr << kProgram << ": " << printable(arguments.write) << ": "
                  << (error == EEXIST ? "exists, and is not overwritten"
                                      : std::generic_category().message(error))
                  << '\n';
        return EX_IOERR;
    }
    return list_to(out, options);
}

}  // namespace tributary
