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

#include "export/file_descriptor.hpp"
#include "export/listing/flow_measure.hpp"
#include "export/listing/ipfix_reader.hpp"
#include "export/listing/listing_input.hpp"
#include "export/listing/printable_text.hpp"
#include "export/messages/ip_text.hpp"
#include "export/transport/file_names.hpp"
#include "export/transport/rename_file.hpp"

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
        case ListingStatus::usage:
            return EX_USAGE;
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

ListingFormat format_of(const ListingArguments& arguments) {
    if (arguments.json) {
        return ListingFormat::json;
    }
    if (arguments.csv || arguments.write_format == "csv") {
        return ListingFormat::csv;
    }
    if (arguments.write_format == "json") {
        return ListingFormat::entry_json;
    }
    return arguments.write_format == "ipfix" ? ListingFormat::ipfix : ListingFormat::table;
}

ListingResult list_to(std::ostream& out, const FlowListingOptions& options) {
    return list_flows(options, out, [](const std::string& warning) {
        std::cerr << kProgram << ": " << warning << '\n';
    });
}

/// Reports why a file is not written. @return  exit code
int refuse_output(const std::string& path, const std::string& fault) {
    std::cerr << kProgram << ": " << printable(path) << ": " << fault << '\n';
    return EX_IOERR;
}

/// The files that list_flows() reads for an input. It reports why a directory has none.
std::vector<std::string> files_read_for(const std::string& input) {
    try {
        return files_of(input);
    } catch (const IpfixInputError&) {
        return {};
    }
}

/// Refuses a run whose output is one of its inputs: it would read what it writes, and never end.
/// @return  exit code
int refuse_input_that_is(const std::string& output, const std::vector<std::string>& inputs) {
    namespace fs = std::filesystem;
    std::error_code unknown;
    if (!fs::is_regular_file(output, unknown)) {
        return EX_OK;  // a terminal and a pipe may be both
    }
    const auto is_output = [&](const std::string& file) {
        return fs::equivalent(file == "-" ? "/dev/stdin" : file, output, unknown);
    };
    for (const std::string& input : inputs) {
        const std::vector<std::string> files = files_read_for(input);
        const auto found = std::ranges::find_if(files, is_output);
        if (found != files.end()) {
            return refuse_output(*found, "is the output, and cannot be an input, too");
        }
    }
    return EX_OK;
}

/// @return  exit code
int list_to_standard_output(const FlowListingOptions& options) {
    // Text in a listed directory is refused as input when it is read: it does not grow without end.
    const int refusal = options.format == ListingFormat::ipfix
                            ? refuse_input_that_is("/dev/stdout", options.files)
                            : EX_OK;
    return refusal != EX_OK ? refusal : explain_listing(list_to(std::cout, options), kProgram);
}

/// What went wrong with a stream. @return  errno; 0: all is well
int errno_of(const std::ofstream& out) {
    if (out) {
        return 0;
    }
    return errno != 0 ? errno : EIO;
}
int open_stream(const std::string& path, std::ofstream& out) {
    errno = 0;
    out.open(path, std::ios::binary);
    return errno_of(out);
}
/// A quota or NFS may refuse the octets here at last.
int close_stream(std::ofstream& out) {
    errno = 0;
    out.close();
    return errno_of(out);
}

/// Writes to a FIFO or a device. @return  exit code
int write_to_other(const std::string& path, const FlowListingOptions& options) {
    std::ofstream out;
    if (const int error = open_stream(path, out); error != 0) {
        return refuse_output(path, words_for(error));
    }
    const ListingResult result = list_to(out, options);
    if (result.status != ListingStatus::ok) {
        return explain_listing(result, kProgram);
    }
    const int error = close_stream(out);
    return error == 0 ? EX_OK
                      : refuse_output(path, std::string("cannot write: ") + words_for(error));
}

/// Reports inputs that could not be read whole. @return  exit code
int explain_input(const std::string& output, const ListingResult& result) {
    const int code = explain_listing(result, kProgram);
    static_cast<void>(refuse_output(output,
                                    "is not written, because not all inputs could be read whole; "
                                    "--write - writes what can be read"));
    return code;
}

/// A file that has a name of its own, which listings of directories skip, until it is whole. If it
/// never is, it is removed.
class NewFile {
public:
    explicit NewFile(const std::string& name) : name_(name), part_(name + kPartSuffix) {}
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile() {
        if (is_to_remove_) {
            ::unlink(part_.c_str());
        }
    }

    /// @return  exit code
    [[nodiscard]] int create() {
        const FileDescriptor file(
            ::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
        if (!file) {
            return refuse_output(part_, errno == EEXIST ? kForeign : words_for(errno));
        }
        is_to_remove_ = true;
        const int error = open_stream(part_, out_);
        return error == 0 ? EX_OK : refuse_output(part_, words_for(error));
    }
    /// Writes the flows, and gives the file its name. @return  exit code
    [[nodiscard]] int write(const FlowListingOptions& options) {
        if (const int refusal = refuse_input_that_is(part_, options.files); refusal != EX_OK) {
            return refusal;
        }
        const ListingResult result = list_to(out_, options);
        return result.status == ListingStatus::ok ? finish() : explain_failure(result);
    }

private:
    static constexpr const char* kForeign =
        "exists: another program is writing it, or a conversion that was killed has left it, and "
        "then it can be removed";

    [[nodiscard]] int explain_failure(const ListingResult& result) const {
        if (result.status == ListingStatus::output_closed) {
            return refuse_output(part_, words_for(EPIPE));  // of a file it is a fault
        }
        const bool is_of_input =
            result.status == ListingStatus::data_error || result.status == ListingStatus::no_input;
        return is_of_input ? explain_input(name_, result) : explain_listing(result, kProgram);
    }
    [[nodiscard]] int finish() {
        if (const int error = close_stream(out_); error != 0) {
            return refuse_output(part_, std::string("cannot write: ") + words_for(error));
        }
        is_to_remove_ = false;
        const int error = rename_without_replacing(part_, name_);
        return error == 0
                   ? EX_OK
                   : refuse_output(part_, "is whole, but cannot be renamed to " + printable(name_) +
                                              ": " + words_for_rename(error));
    }

    std::string name_;
    std::string part_;
    bool is_to_remove_{};
    std::ofstream out_;
};

/// Writes to a new file, or to what exists and is no file, such as a FIFO. @return  exit code
int write_to(const std::string& path, const FlowListingOptions& options) {
    namespace fs = std::filesystem;
    std::error_code unknown;
    const fs::file_status status = fs::status(path, unknown);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        return write_to_other(path, options);
    }
    // A link that leads nowhere exists, too.
    if (fs::exists(fs::symlink_status(path, unknown))) {
        return refuse_output(path, "exists, and is not overwritten");
    }
    if (path.empty()) {
        return refuse_output(path, words_for(ENOENT));
    }
    try {
        // In front of create(): a directory without files is not to be blamed on the new one.
        std::ranges::for_each(options.files, files_of);
    } catch (const IpfixInputError& error) {
        return explain_input(path, {ListingStatus::no_input, error.what()});
    }
    NewFile file(path);
    const int refusal = file.create();
    return refusal != EX_OK ? refusal : file.write(options);
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
    arguments.options.format = format_of(arguments);
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
    flows
        ->add_option(
            "--table", arguments.table,
            "only the flows of one table: main, or the name of a declared one. Without it,\n"
            "records of several tables are listed, and never added up")
        ->option_text("NAME");
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
    if (flows.count("--table") != 0) {
        arguments.options.table = arguments.table;
    }
    const FlowListingOptions& options = listing_options(flows, arguments);
    const bool is_sorted = flows.count("--sort") != 0 || flows.count("--top") != 0;
    if (is_sorted && options.format == ListingFormat::ipfix) {
        throw CLI::ValidationError(
            "--format", "is ipfix, but --sort or --top is given: records are written as read");
    }
    const bool is_to_standard_output = flows.count("--write") == 0 || arguments.write == "-";
    return is_to_standard_output ? list_to_standard_output(options)
                                 : write_to(arguments.write, options);
}

}  // namespace tributary
