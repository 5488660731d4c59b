// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/preparse_command.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>

#include "conf/load_config.hpp"
#include "daemon/base/signals.hpp"
#include "daemon/base/spdlog.hpp"
#include "daemon/base/standard_streams.hpp"
#include "daemon/cli/command_line.hpp"
#include "daemon/cli/program.hpp"
#include "daemon/filter/filter_check.hpp"
#include "daemon/log/log.hpp"

namespace tributary {
namespace {

/// Six pairs of hexadecimal digits with colons between them.
std::optional<MacAddress> parse_mac_address(const std::string& text) {
    constexpr std::size_t kLength = 17;
    MacAddress address{};
    if (text.size() != kLength) {
        return std::nullopt;
    }
    for (std::size_t octet = 0; octet < address.size(); ++octet) {
        const char* const digits = text.data() + 3 * octet;
        std::uint8_t value = 0;
        const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
        const bool is_last = octet + 1 == address.size();
        if (error != std::errc() || end != digits + 2 || (!is_last && *end != ':')) {
            return std::nullopt;
        }
        address[octet] = std::byte{value};
    }
    return address;
}

/// An empty text is probably an unset shell variable.
std::string refuse_empty(const std::string& text) {
    return text.empty() ? "it is empty" : std::string();
}

void add_ends(CLI::App& preparse, PreparseArguments& arguments) {
    CLI::Option_group* const input = preparse.add_option_group("Input", "one of these");
    input
        ->add_option("--from", arguments.device,
                     "Take packets from this device, as inputs[].device of tributaryd; "
                     "inputs.0.* are its keys for --set")
        ->check(refuse_empty)
        ->type_name("DEVICE");
    input
        ->add_option("--read", arguments.job.captures,
                     "Take packets from pcap and pcapng files, also compressed by gzip, xz or "
                     "zstd, as one stream ('-': standard input); read.* are the keys for --set")
        ->check(refuse_empty)
        ->transform(or_standard_input)
        ->type_name("CAPTURE")
        ->expected(1, -1);
    input->require_option(1);

    CLI::Option_group* const output = preparse.add_option_group("Output", "one of these");
    output
        ->add_option("--to", arguments.job.to_device,
                     "Send to this device, with a transmit queue for each receive queue; for "
                     "instance net_memif0,role=client,socket=uh.sock,socket-abstract=no")
        ->check(refuse_empty)
        ->type_name("DEVICE");
    output
        ->add_option("--write", arguments.job.to_capture,
                     "Write this pcap file ('-': standard output)")
        ->check(refuse_empty)
        ->transform(or_standard_output)
        ->type_name("FILE");
    output->require_option(1);
}

void add_frame_options(CLI::App& preparse, PreparseArguments& arguments) {
    preparse
        .add_option("--mtu", arguments.job.mtu,
                    "Octets of the longest frame behind its Ethernet header (default 1500)")
        ->check(CLI::Range(kSmallestPreparseMtu, std::uint16_t{16000}))
        ->option_text("OCTETS");
    preparse
        .add_option("--to-mac", arguments.destination,
                    "Ethernet address to send to (default ff:ff:ff:ff:ff:ff)")
        ->check([](const std::string& text) {
            return parse_mac_address(text) ? std::string()
                                           : "must be like 02:00:5e:10:00:01, not " + text;
        })
        ->option_text("ADDRESS");
    preparse
        .add_option("--stream", arguments.job.first_stream,
                    "Number of the first stream; others count on from it. Senders to one "
                    "receiver need different ones (default 0)")
        ->check(CLI::Range(std::uint32_t{0}, kHighestFirstStream))
        ->option_text("N");
}

void add_other_options(CLI::App& preparse, PreparseArguments& arguments) {
    preparse
        .add_option("--config", arguments.config_path,
                    "Configuration of tributaryd, for how packets are parsed")
        ->check(refuse_empty)
        ->option_text("FILE");
    preparse
        .add_option("--set", arguments.sets,
                    "Override one key, such as flows.tunnel=inner or inputs.0.queues=4; "
                    "repeatable")
        ->allow_extra_args(false)
        ->option_text("KEY=VALUE");
    preparse
        .add_option("--link-wait", arguments.link_wait,
                    "Wait at most so long for the link of --to before packets are taken "
                    "(default 10)")
        ->check(CLI::Range(0U, 3600U))
        ->option_text("SECONDS");
    preparse
        .add_option("--stats", arguments.job.stats_path,
                    "Write the ledger as JSON at exit ('-': standard output)")
        ->check(refuse_empty)
        ->option_text("FILE");
    std::vector<std::string> levels;
    for (const auto& [word, level] : log_levels()) {
        levels.push_back(word);
    }
    preparse
        .add_option("--log-level", arguments.log_level,
                    "trace, debug, info, warn or error (default info)")
        ->check(CLI::IsMember(levels))
        ->option_text("LEVEL");
}

}  // namespace

void add_preparse(CLI::App& app, PreparseArguments& arguments) {
    CLI::App* const preparse =
        app.add_subcommand("preparse", "Parse packets and send unified headers to a tributaryd");
    add_ends(*preparse, arguments);
    add_frame_options(*preparse, arguments);
    add_other_options(*preparse, arguments);
}

int run_preparse_command(PreparseArguments& arguments) {
    reserve_standard_streams();
    set_up_log(log_levels().at(arguments.log_level));
    try {
        arguments.job.link_wait = std::chrono::seconds(arguments.link_wait);
        // Valid: the command line was checked.
        arguments.job.destination =
            parse_mac_address(arguments.destination).value_or(arguments.job.destination);
        const LoadedConfig loaded =
            preparse_config(arguments.config_path, arguments.device, arguments.sets, check_filters);
        for (const std::string& warning : loaded.warnings) {
            spdlog::warn(warning);
        }
        Signals signals;
        return run_preparse(arguments.job, loaded.config, signals);
    } catch (...) {
        return explain_failure("tributary preparse");
    }
}

}  // namespace tributary
