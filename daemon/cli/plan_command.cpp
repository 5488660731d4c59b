// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/plan_command.hpp"

#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <iostream>
#include <string>

#include "conf/load_config.hpp"
#include "daemon/base/standard_streams.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/cli/command_line.hpp"
#include "daemon/cli/program.hpp"
#include "daemon/log/log.hpp"
#include "daemon/machine/topology.hpp"
#include "daemon/plan/known_devices.hpp"
#include "daemon/plan/machine_plan.hpp"
#include "daemon/plan/probe_plan.hpp"

namespace tributary {
namespace {

/// A missing device has no node to plan for.
///
/// @errors  StartupError(69)
void demand_devices(const ProbePlan& plan) {
    std::string lacks;
    for (std::size_t i = 0; i < plan.devices.size(); ++i) {
        const std::string lack = lack_of_device(plan.devices[i]);
        if (!lack.empty()) {
            lacks +=
                (lacks.empty() ? "" : "; ") + ("input " + shown(plan.inputs[i].name)) + ": " + lack;
        }
    }
    if (!lacks.empty()) {
        throw StartupError(EX_UNAVAILABLE, lacks);
    }
}

}  // namespace

void add_plan(CLI::App& app, PlanArguments& arguments) {
    CLI::App* const plan = app.add_subcommand(
        "plan", "Print this machine, and a cores: block for the inputs of a configuration");
    auto* const config = plan->add_option("--config", arguments.config_path,
                                          std::string("Configuration of tributaryd (default ") +
                                              kDefaultConfig + ")")
                             ->option_text("FILE");
    plan->add_option("-i", arguments.device,
                     "Plan for this device instead; --set inputs.0.queues=N says for how many "
                     "queues")
        ->option_text("DEVICE")
        ->excludes(config);
    plan->add_option("--set", arguments.sets,
                     "Override one key, such as inputs.0.queues=8; repeatable")
        ->allow_extra_args(false)
        ->option_text("KEY=VALUE");
}

int run_plan_command(const PlanArguments& arguments) {
    set_up_log(LogLevel::info);
    try {
        CommandLine command_line;
        command_line.config_path =
            arguments.config_path.empty() ? kDefaultConfig : arguments.config_path;
        command_line.device = arguments.device;
        if (!arguments.device.empty()) {
            command_line.collectors = {"127.0.0.1"};
        }
        command_line.sets = arguments.sets;
        // The configured placement is planned anew.
        command_line.sets.emplace_back("cores={export: auto, input: auto, helpers: auto}");
        const Config config = load_config(command_line, {}).config;
        const Topology topology = read_topology();
        const ProbePlan plan = plan_probe(config);
        demand_devices(plan);
        const ProbeParts parts{.pages = memory_of(plan, config),
                               .memory = memory_parts(plan, config),
                               .helpers = helpers_of(config)};
        std::cout << to_text(plan_machine(topology, plan.queues, parts.pages), topology, parts);
        return end_output("tributary plan");
    } catch (...) {
        return explain_failure("tributary plan");
    }
}

}  // namespace tributary
