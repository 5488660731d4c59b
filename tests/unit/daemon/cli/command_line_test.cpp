// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/command_line.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "daemon/filter/filter_check.hpp"

namespace tributary {
namespace {

CommandLine parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "tributaryd");
    return parse_command_line(arguments, false);
}

std::string refusal(const std::vector<const char*>& arguments) {
    try {
        (void)parse(arguments);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

std::string config_refusal(const std::vector<const char*>& arguments) {
    try {
        (void)load_config(parse(arguments), check_filters);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("command line: nothing at all runs as a probe with the default configuration",
          "[daemon][unit]") {
    const CommandLine line = parse({});
    CHECK(line.task == CommandLine::Task::probe);
    CHECK(line.use == ConfigUse::probe);
    CHECK(line.config_path == "/etc/tributary/tributary.yaml");
    CHECK(line.device.empty());
    CHECK(line.captures.empty());
    CHECK(line.sets.empty());
    CHECK(line.stats_path.empty());
    CHECK(line.stats_interval == std::chrono::seconds(60));
    CHECK(!line.log_level);
}

TEST_CASE("command line: --config names another file", "[daemon][unit]") {
    CHECK(parse({"--config", "a.yaml"}).config_path == "a.yaml");
    CHECK(parse({"--config=a.yaml"}).config_path == "a.yaml");
}

TEST_CASE("command line: -i and -n take the place of a file", "[daemon][unit]") {
    const CommandLine line = parse({"-i", "af_packet:eth0", "-n", "192.0.2.1:2055"});
    CHECK(line.task == CommandLine::Task::probe);
    CHECK(line.device == "af_packet:eth0");
    CHECK(line.collectors == std::vector<std::string>{"192.0.2.1:2055"});
    CHECK(line.config_path.empty());
}

TEST_CASE("command line: --read takes files up to the next option", "[daemon][unit]") {
    const CommandLine line =
        parse({"--read", "a.pcap", "b.pcap", "--set", "read.queues=4", "--write", "out", "--set",
               "flows.idle-timeout=5", "--stats", "-"});
    CHECK(line.task == CommandLine::Task::offline);
    CHECK(line.use == ConfigUse::offline);
    CHECK(line.captures == std::vector<std::string>{"a.pcap", "b.pcap"});
    CHECK(line.output == "out");
    CHECK(line.sets == std::vector<std::string>{"read.queues=4", "flows.idle-timeout=5"});
    CHECK(line.stats_path == "-");
    CHECK(line.config_path.empty());
}

TEST_CASE("command line: --read repeated reads on in order", "[daemon][unit]") {
    CHECK(parse({"--read", "a", "--read", "b", "--write", "out"}).captures ==
          std::vector<std::string>{"a", "b"});
}

TEST_CASE("command line: with --read a file is read only when it is named", "[daemon][unit]") {
    CHECK(parse({"--read", "a", "--write", "out", "--config", "c"}).config_path == "c");
}

TEST_CASE("command line: captures go to the collectors of -n", "[daemon][unit]") {
    const CommandLine line =
        parse({"--read", "a", "b", "-n", "tcp://h", "-n", "[2001:db8::1]", "-n", "[::1]:2055"});
    CHECK(line.task == CommandLine::Task::offline);
    CHECK(line.use == ConfigUse::captures_to_collectors);
    CHECK(line.captures.size() == 2);
    CHECK(line.output.empty());
    CHECK_FALSE(line.prints_table);
    const ExportOptions options = load_config(line, {}).config.export_;
    REQUIRE(options.collectors.size() == 3);
    CHECK(options.collectors[0].transport == TransportKind::tcp);
    CHECK(options.collectors[1].host == "2001:db8::1");
    CHECK(options.collectors[2].port == 2055);
    CHECK(refusal({"--read", "a", "-n", "h", "-n", ""}) == "-n is empty (see tributaryd --help)");
}

TEST_CASE("command line: captures without an output are a table, on a terminal alone",
          "[daemon][unit]") {
    const auto prints = [](std::vector<const char*> arguments) {
        arguments.insert(arguments.begin(), "tributaryd");
        return parse_command_line(arguments, true).prints_table;
    };
    CHECK(prints({"--read", "a"}));
    CHECK(prints({"--read", "a", "--set", "read.queues=2", "--config", "c"}));
    CHECK_FALSE(prints({"--read", "a", "--write", "b"}));
    CHECK_FALSE(prints({"--read", "a", "-n", "h"}));
    CHECK_FALSE(prints({"-i", "d", "-n", "h"}));
    CHECK_FALSE(prints({"--dump-config"}));
    CHECK_THROWS_AS(prints({"--read", "a", "--stats", "-"}), UsageError);
    CHECK_THROWS_AS(prints({"--read", "a", "--write", "-"}), UsageError);
    CHECK(parse({"--read", "a", "--write", "-"}).task == CommandLine::Task::offline);
}

TEST_CASE("command line: configurations are judged and printed for any use", "[daemon][unit]") {
    CHECK(parse({"--check-config"}).task == CommandLine::Task::check_config);
    CHECK(parse({"--dump-config"}).task == CommandLine::Task::dump_config);
    CHECK(parse({"--dump-config", "-i", "net_null0", "-n", "h"}).device == "net_null0");
    const CommandLine offline = parse({"--dump-config", "--read", "a", "--set", "a=b"});
    CHECK(offline.task == CommandLine::Task::dump_config);
    CHECK(offline.use == ConfigUse::offline);
}

TEST_CASE("command line: the log's level and interval are taken", "[daemon][unit]") {
    const CommandLine line = parse({"--log-level", "trace", "--stats-interval", "0"});
    CHECK(line.log_level == LogLevel::trace);
    CHECK(line.stats_interval == std::chrono::seconds(0));
    CHECK(parse({"--log-level", "error"}).log_level == LogLevel::error);
}

TEST_CASE("command line: --help has every exit code", "[daemon][unit]") {
    const std::string help = parse({"--help"}).answer;
    for (const char* const code :
         {"0", "64", "66", "69", "70", "71", "74", "77", "78", "128 + N"}) {
        CAPTURE(code);
        CHECK(help.find("\n  " + std::string(code) + " ") != std::string::npos);
    }
    CHECK(help.find("\n  69       a device is missing") != std::string::npos);
}

TEST_CASE("command line: --help and --version answer and do no more", "[daemon][unit]") {
    const CommandLine help = parse({"--help"});
    CHECK(help.task == CommandLine::Task::answer);
    for (const char* option :
         {"--config", "--set", "--check-config", "--dump-config", "-i", "-n", "--read", "--write",
          "--stats", "--stats-interval", "--log-level", "--version"}) {
        CHECK(help.answer.find(option) != std::string::npos);
    }
    const CommandLine version = parse({"--version"});
    CHECK(version.task == CommandLine::Task::answer);
    CHECK(version.answer.starts_with("tributaryd "));
    CHECK(version.answer.find("DPDK 2") != std::string::npos);
    CHECK(version.answer.find("libfixbuf 2") != std::string::npos);
    CHECK(version.answer.ends_with(")\n"));
}

TEST_CASE("command line: options that contradict each other are refused", "[daemon][unit]") {
    const std::string hint = " (see tributaryd --help)";
    CHECK(refusal({"--read", "a"}) ==
          "--read CAPTURE is given without --write FILE, -n COLLECTOR or --export; its flows are "
          "printed only "
          "on a terminal, and elsewhere by --write - | tributary flows -" +
              hint);
    CHECK(refusal({"--write", "a"}) == "--write FILE is given without --read CAPTURE" + hint);
    CHECK(refusal({"-i", "net_null0"}) == "-i DEVICE is given without -n COLLECTOR" + hint);
    CHECK(refusal({"-n", "h"}) ==
          "-n COLLECTOR is given without -i DEVICE or --read CAPTURE" + hint);
    CHECK(refusal({"-i", "d", "-n", "h", "--config", "c"}) ==
          "-i and -n take the place of --config; give one or the other" + hint);
    CHECK(refusal({"-i", "d", "-n", "h", "--read", "a", "--write", "o"}) ==
          "-i and --read exclude each other: packets come from a device or from captures" + hint);
    CHECK(refusal({"--check-config", "--dump-config"}) ==
          "--check-config and --dump-config exclude each other" + hint);
}

TEST_CASE("command line: an option's value must be one", "[daemon][unit]") {
    const std::string hint = " (see tributaryd --help)";
    CHECK(refusal({"--set", "novalue"}) == "--set novalue is not KEY=VALUE" + hint);
    CHECK(refusal({"--set", "=1"}) == "--set =1 is not KEY=VALUE" + hint);
    CHECK(refusal({"--config", ""}) == "--config is empty" + hint);
    CHECK(refusal({"--log-level", "loud"}) ==
          "--log-level is loud; must be trace, debug, info, warn or error" + hint);
    CHECK(refusal({"--stats-interval", "soon"}) ==
          "Could not convert: --stats-interval = soon" + hint);
    CHECK(refusal({"--stats-interval", "-1"}) == "Could not convert: --stats-interval = -1" + hint);
    CHECK(refusal({"--read"}) == "--read: 1 required CAPTURE missing" + hint);
}

TEST_CASE("command line: what is not an option is refused", "[daemon][unit]") {
    CHECK(refusal({"--no-such-option"}) ==
          "The following argument was not expected: --no-such-option (see tributaryd --help)");
    CHECK(refusal({"--set", "a=1", "b=2"}) ==
          "The following argument was not expected: b=2 (see tributaryd --help)");
    CHECK(refusal({"--config", "a", "--config", "b"}) != "accepted");
    CHECK(refusal({"capture.pcap"}) != "accepted");
}

TEST_CASE("command line: -i and -n make a configuration, which --set changes", "[daemon][unit]") {
    const Config config = load_config(parse({"-i", "af_packet:eth0", "-n", "[2001:db8::1]:2055",
                                             "--set", "inputs.0.queues=2"}),
                                      {})
                              .config;
    REQUIRE(config.inputs.size() == 1);
    CHECK(config.inputs[0].device == "af_packet:eth0");
    CHECK(config.inputs[0].queues == 2);
    REQUIRE(config.export_.collectors.size() == 1);
    CHECK(config.export_.collectors[0].host == "2001:db8::1");
    CHECK(config.export_.collectors[0].port == 2055);
}

TEST_CASE("command line: with --read and no file all is at its default", "[daemon][unit]") {
    const Config config =
        load_config(parse({"--read", "a", "--write", "b", "--set", "read.queues=4"}), {}).config;
    CHECK(config.inputs.empty());
    CHECK(config.export_.collectors.empty());
    CHECK(config.read.queues == 4);
    CHECK(config.flows.idle_timeout == std::chrono::seconds(30));
}

TEST_CASE("command line: a filter that libpcap does not compile is refused", "[daemon][unit]") {
    const std::string must = "; must be a filter expression in pcap syntax (";
    CHECK(config_refusal({"-i", "af_packet:eth0", "-n", "h", "--set",
                          "inputs.0.filter=udp port 53"}) == "accepted");
    CHECK(
        config_refusal({"-i", "af_packet:eth0", "-n", "h", "--set", "inputs.0.filter=ip and ip6"})
            .starts_with("--set inputs.0.filter=ip and ip6: inputs.0.filter is ip and ip6" + must));
    CHECK(config_refusal({"--read", "a", "--check-config", "--set", "read.filter=udp prt 53"})
              .starts_with("--set read.filter=udp prt 53: read.filter is udp prt 53" + must));
}

TEST_CASE("command line: a configuration that cannot be read is named", "[daemon][unit]") {
    CHECK(config_refusal({"--config", "/nonexistent/probe.yaml"}) ==
          "/nonexistent/probe.yaml: the configuration cannot be read: No such file or directory "
          "(--config FILE names another, -i and -n need none)");
    CHECK(config_refusal({"--config", "/"}) ==
          "/: the configuration cannot be read: Is a directory "
          "(--config FILE names another, -i and -n need none)");
}

}  // namespace tributary
