// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/config_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "conf/config_change.hpp"
#include "conf/export_keys.hpp"
#include "conf/kafka_keys.hpp"
#include "conf/load_config.hpp"
#include "daemon/base/spdlog.hpp"
#include "daemon/cli/machine_check.hpp"
#include "daemon/control/control_socket.hpp"
#include "daemon/plan/probe_plan.hpp"
#include "daemon/trigger/trigger_check.hpp"
#include "export/collector_events.hpp"

namespace tributary {
namespace {

using Details = std::vector<std::string>;

std::string line(const char* what, const Details& details) {
    return fmt::format("  {:<10} {}\n", what, fmt::join(details, ", "));
}

std::string sampling_text(std::uint32_t one_in) {
    return fmt::format("1 of {} packets is taken", one_in);
}

std::string parsing_text(ParseMode mode, std::uint16_t trim_length) {
    switch (mode) {
        case ParseMode::full:
            break;
        case ParseMode::trimmed:
            return fmt::format("the first {} octets of a frame are parsed", trim_length);
        case ParseMode::unified_header:
            return "unified headers";
    }
    return "frames are parsed";
}

/// How packets of an input or of captures are processed.
///
/// @param execution  of the filter, if there is one
template <class Options>
void add_packets(const Options& options, const std::string& execution, Details& details) {
    details.push_back(fmt::format("{} queue{}", options.queues, options.queues == 1 ? "" : "s"));
    details.push_back(parsing_text(options.parse, options.trim_length));
    if (!options.filter.empty()) {
        details.push_back(fmt::format("filter {} ({})", shown(options.filter), execution));
    }
    if (options.sampling > 1) {
        details.push_back(sampling_text(options.sampling));
    }
}

std::string input_line(const InputOptions& input, const std::string& execution) {
    Details details{shown(input.device)};
    if (input.name != input.device) {
        details.front() = shown(input.name) + " is " + details.front();
    }
    add_packets(input, execution, details);
    return line("input", details);
}

std::string flows_line(const FlowCacheOptions& flows) {
    Details details{fmt::format("at most {} in each queue", flows.max_flows),
                    flows.direction == FlowDirection::biflow ? "biflows" : "uniflows",
                    fmt::format("idle timeout {} s", flows.idle_timeout.count()),
                    fmt::format("active timeout {} s", flows.active_timeout.count())};
    const std::vector<std::pair<bool, const char*>> wishes{
        {flows.tcp_end, "TCP connections end their records"},
        {flows.tcp_analysis, "TCP analysis"},
        {flows.tunnel == TunnelMode::inner, "inside tunnels"},
        {flows.fragments == FragmentMode::track, "fragments are tracked"}};
    for (const auto& [is_wished, text] : wishes) {
        if (is_wished) {
            details.emplace_back(text);
        }
    }
    return line("flows", details);
}

/// Name, place and type of a field of the user's own.
///
/// @param execution  of the filter of packets that have it, if there is one
std::string own_field_line(const OwnField& field, const std::string& execution) {
    Details details{fmt::format("{} is {} octet{} from {} + {}", field.name, field.octets,
                                field.octets == 1 ? "" : "s", name_of(field.from), field.offset),
                    std::string(name_of(field.as))};
    if (!field.when.empty()) {
        details.push_back(fmt::format("when {} ({})", shown(field.when), execution));
    }
    return line("field", details);
}

std::string counted(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string table_line(const TableDeclaration& table, const std::string& execution) {
    Details details{table.name + ": " + counted(table.key.size(), "key field"),
                    counted(table.values.size(), "value"),
                    fmt::format("at most {} flows in each queue", table.max_flows),
                    table.direction == FlowDirection::biflow ? "biflows" : "uniflows",
                    fmt::format("idle timeout {} s", table.idle_timeout.count()),
                    fmt::format("active timeout {} s", table.active_timeout.count())};
    if (!table.filter.empty()) {
        details.push_back(fmt::format("filter {} ({})", shown(table.filter), execution));
    }
    return line("table", details);
}

/// @return  empty: no such filter
std::string execution_of(const std::string& path, const FilterExecutions& executions) {
    const auto found = executions.find(path);
    return found == executions.end() ? std::string() : found->second;
}

/// The flows of all tables.
std::string flows_lines(const Config& config, const FilterExecutions& executions) {
    std::string lines = flows_line(config.flows);
    for (std::size_t field = 0; field < config.fields.size(); ++field) {
        lines += own_field_line(config.fields[field],
                                execution_of(field_filter_path(field), executions));
    }
    for (std::size_t table = 0; table < config.tables.size(); ++table) {
        lines +=
            table_line(config.tables[table], execution_of(table_filter_path(table), executions));
    }
    return lines;
}

std::string mode_text(ExportMode mode, std::size_t collectors) {
    if (collectors == 1) {
        return "all records to one collector";
    }
    switch (mode) {
        case ExportMode::copy:
            return fmt::format("all records to each of {} collectors", collectors);
        case ExportMode::balance:
            return fmt::format("each record to one of {} collectors, by its flow", collectors);
        case ExportMode::failover:
            break;
    }
    return fmt::format("all records to the first of {} collectors that can be reached", collectors);
}

std::string spool_text(const SpoolOptions& spool) {
    return fmt::format("spool {} of at most {} MiB", shown(spool.directory),
                       spool.max_octets >> 20U);
}

/// Whether it gets other tables than the main one alone.
bool has_chosen_tables(const CollectorOptions& collector) {
    return collector.tables != CollectorOptions{}.tables;
}

std::string collector_line(const CollectorOptions& collector) {
    Details details{shown(describe(collector)), "format " + format_name(collector.format)};
    if (collector.transport == TransportKind::kafka) {
        details.push_back("key " + key_name(collector.kafka));
    }
    if (has_chosen_tables(collector)) {
        details.push_back(fmt::format("table{} {}", collector.tables.size() == 1 ? "" : "s",
                                      listed(collector.tables)));
    }
    if (collector.direction == FlowDirection::uniflow) {
        details.emplace_back("biflows are split into uniflows");
    }
    if (collector.rotation.interval.count() > 0) {
        details.push_back(fmt::format("a new file each {} s", collector.rotation.interval.count()));
    }
    if (collector.rotation.octets > 0) {
        details.push_back(fmt::format("a new file after {} octets", collector.rotation.octets));
    }
    if (!collector.rotation.command.empty()) {
        details.push_back("each finished file is given to " + shown(collector.rotation.command));
    }
    if (collector.spool.is_on()) {
        details.push_back(spool_text(collector.spool));
    }
    return line("", details);
}

std::string export_lines(const ExportOptions& options) {
    Details details{mode_text(options.mode, options.collectors.size())};
    if (std::ranges::any_of(options.collectors, has_chosen_tables)) {
        details.emplace_back("of the tables that it names");
    }
    std::string lines = line("export", details);
    for (const CollectorOptions& collector : options.collectors) {
        lines += collector_line(collector);
    }
    if (options.spool.is_on()) {
        lines += line("", {spool_text(options.spool) + " for what none of them can take"});
    }
    return lines;
}

/// @param none  the meaning of an empty setting
std::string setting_line(const char* what, const std::string& value, const char* none) {
    return line(what, {value.empty() ? none : shown(value)});
}

std::string socket_of(const ControlOptions& control) {
    return control.socket == "auto" ? default_control_socket() : control.socket;
}

}  // namespace

std::string summary_of(const Config& config, ConfigUse use, const FilterExecutions& executions) {
    if (use == ConfigUse::offline || use == ConfigUse::captures_to_collectors) {
        Details details{"from captures"};
        add_packets(config.read, execution_of("read.filter", executions), details);
        const bool has_collectors = use == ConfigUse::captures_to_collectors;
        return line("packets", details) + flows_lines(config, executions) +
               (has_collectors ? export_lines(config.export_) : std::string());
    }
    std::string lines;
    for (std::size_t input = 0; input < config.inputs.size(); ++input) {
        lines += input_line(config.inputs[input], execution_of(filter_path(input), executions));
    }
    const std::uint64_t memory = octets_of(memory_of(plan_probe(config), config));
    return lines + flows_lines(config, executions) +
           line("memory", {fmt::format("{} MiB for caches and packet buffers", memory >> 20U)}) +
           export_lines(config.export_) +
           setting_line("telemetry", config.telemetry.listen, "is not served") +
           setting_line("control", socket_of(config.control), "there is no socket") +
           setting_line("log", config.log.file, "standard error");
}

std::string check_configuration(const CommandLine& command_line) {
    FilterExecutions executions;
    const LoadedConfig loaded =
        load_config(command_line, [&](const Config& config, const YamlNode& root, Faults& faults) {
            executions = check_filters(config, root, faults);
            check_conditions(config, root, faults);
            check_machine(config, root, faults, files_of_run(command_line, config));
        });
    for (const std::string& warning : loaded.warnings) {
        spdlog::warn(warning);
    }
    const std::string& name = command_line.config_path;
    return (name.empty() ? "the configuration" : shown(name)) + " is good, and runs:\n" +
           summary_of(loaded.config, command_line.use, executions);
}

}  // namespace tributary
