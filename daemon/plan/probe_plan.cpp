// SPDX-License-Identifier: Apache-2.0
#include "daemon/plan/probe_plan.hpp"

#include <algorithm>
#include <numeric>

#include "daemon/base/options.hpp"
#include "daemon/pipeline/queue_worker.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/trimming.hpp"
#include "daemon/recorder/recorder.hpp"
#include "daemon/table/table_set.hpp"
#include "daemon/trigger/trigger_state.hpp"
#include "export/metering_process.hpp"
#include "flowcache/cache_room.hpp"
#include "flowcache/table/field_reference.hpp"

namespace tributary {
namespace {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20U;

/// Calls `add` with part and octets of each block of memory that the tables have in a queue.
template <class Add>
void for_each_table_block(const ProbePlan& plan, Add add) {
    for (const TableMemory& table : plan.tables) {
        add(kTableCaches, table.cache);
        add(kTableRings, table.ring);
        if (table.inbox > 0) {
            add(kTableInboxes, table.inbox);
        }
    }
}

/// Calls `add` with node and octets of each block of memory of the recorder.
template <class Add>
void for_each_recorder_block(const ProbePlan& plan, const Config& config, Add add) {
    const RecorderOptions& options = config.recorder;
    const auto is_recorded = [&options](const QueueToPlace& queue) {
        return options.records(queue.input);
    };
    const auto count = static_cast<std::size_t>(std::ranges::count_if(plan.queues, is_recorded));
    for (const QueueToPlace& queue : plan.queues) {
        if (is_recorded(queue)) {
            add(queue.node, ring_octets(options, count));
        }
        if (is_recorded(queue) && options.cutoff != 0) {
            add(queue.node, sizeof(RecorderQueue::Payload) * entries_for(config.flows));
        }
    }
}

/// Octets that triggers take in each queue for the flows of one table; nothing: it has none.
std::vector<std::size_t> trigger_blocks(const Config& config) {
    std::vector<std::size_t> blocks;
    if (config.flows.dump_files) {
        blocks.push_back(trigger_memory(entries_for(config.flows)));
    }
    for (const TableDeclaration& table : config.tables) {
        if (table.dump_files) {
            FlowCacheOptions options;
            options.max_flows = table.max_flows;
            blocks.push_back(trigger_memory(entries_for(options)));
        }
    }
    return blocks;
}

/// Calls `add` with part, node and octets of each block of memory.
template <class Add>
void for_each_block(const ProbePlan& plan, const Config& config, Add add) {
    for (const PoolSize& pool : plan.pools) {
        add(kPacketBuffers, pool.node, pool.memory());
    }
    for (const std::optional<PoolSize>& heads : plan.heads) {
        if (heads) {
            add(kHeadBuffers, heads->node, heads->memory());
        }
    }
    const RecordLayout layout = layout_of_flows(config.export_.fields, config.flows);
    for (const QueueToPlace& queue : plan.queues) {
        const auto [cache, ring] = queue_memory({.flows = config.flows, .layout = layout});
        add(kFlowCaches, queue.node, cache);
        add(kRecordRings, queue.node, ring);
        for_each_table_block(plan, [&add, &queue](const char* part, std::size_t octets) {
            add(part, queue.node, octets);
        });
    }
    for (const std::size_t octets : trigger_blocks(config)) {
        for (const QueueToPlace& queue : plan.queues) {
            add(kTriggerStates, queue.node, octets);
        }
    }
    for_each_recorder_block(plan, config, [&add](const NumaNode& node, std::size_t octets) {
        add(kRecorderRings, node, octets);
    });
    add("DPDK", plan.nodes.empty() ? std::nullopt : plan.nodes.front(), kEalOwnMemory);
}

/// @param queues  of all inputs
/// @return  empty also where a declaration is no table, which the checks of the configuration tell
std::vector<TableMemory> memory_of_tables(const Config& config, std::size_t queues) {
    try {
        return TableSet({.declarations = config.tables,
                         .own = config.fields,
                         .main = config.flows,
                         .parse = parse_options(config.flows, ParseMode::full, 0),
                         .spreading = {.queues = queues}})
            .memory();
    } catch (const TableError&) {
        return {};
    }
}

}  // namespace

ProbePlan plan_probe(const Config& config) {
    ProbePlan plan;
    for (std::size_t index = 0; index < config.inputs.size(); ++index) {
        plan.inputs.push_back(with_mtu_of_interface(config.inputs[index]));
        const InputOptions& input = plan.inputs.back();
        plan.devices.push_back(eal_device(input, index));
        plan.nodes.push_back(read_device_node(plan.devices.back()));
        plan.heads.push_back(needs_head_buffers(input)
                                 ? std::optional(plan_head_pool(input, plan.nodes.back()))
                                 : std::nullopt);
        for (std::uint16_t queue = 0; queue < input.queues; ++queue) {
            plan.queues.push_back({.input = input.name, .queue = queue, .node = plan.nodes.back()});
        }
    }
    plan.pools = plan_pools(plan.inputs, plan.nodes);
    plan.tables = memory_of_tables(config, plan.queues.size());
    return plan;
}

std::vector<PlannedHelper> helpers_of(const Config& config) {
    std::vector<PlannedHelper> helpers{
        {.name = "main", .work = "signals, reloads, statistics, the watchdog"}};
    const auto add_if = [&helpers](bool is_there, const char* name, const char* work) {
        if (is_there) {
            helpers.push_back({.name = name, .work = work});
        }
    };
    const auto has = [&config](auto is_such) {
        return std::ranges::any_of(config.export_.collectors, is_such);
    };
    add_if(!config.telemetry.listen.empty(), "telemetry", "metrics and health by HTTP");
    add_if(!config.control.socket.empty(), "control", "takes the commands of tributary");
    add_if(!config.control.socket.empty() || config.recorder.memory != 0, "command",
           "one for each command that runs, 16 at most of a socket");
    add_if(config.recorder.memory != 0, "recorder", "takes the commands of tributary dump");
    add_if(!config.triggers.empty(), "triggers", "takes what input threads say of triggers");
    add_if(!config.triggers.empty(), "trigger-file",
           "one for each file that a trigger has written, 8 at most");
    add_if(has([](const CollectorOptions& each) { return each.rotation.is_on(); }), "files",
           "names finished files, and runs their command");
    const auto has_kafka =
        has([](const CollectorOptions& each) { return each.transport == TransportKind::kafka; });
    add_if(has_kafka, "kafka-topic", "asks whether brokers have the topic; one for each collector");
    add_if(has_kafka, "kafka-end", "ends a session with brokers");
    add_if(has_kafka, "rdk:main", "librdkafka's: one for each collector with transport kafka");
    add_if(has_kafka, "rdk:broker", "librdkafka's: one for each broker");
    add_if(has([](const CollectorOptions& each) {
               return each.transport != TransportKind::file &&
                      each.transport != TransportKind::kafka;
           }),
           "lookup", "looks up a collector's name while it connects; none for an address");
    add_if(std::ranges::any_of(config.inputs,
                               [](const InputOptions& input) { return !input.filter.empty(); }) ||
               std::ranges::any_of(
                   config.tables,
                   [](const TableDeclaration& table) { return !table.filter.empty(); }) ||
               std::ranges::any_of(config.fields,
                                   [](const OwnField& field) { return !field.when.empty(); }) ||
               !config.recorder.filter.empty(),
           "filter", "compiles a filter, and looks up its names");
    helpers.push_back({.name = "eal-intr-thread", .work = "DPDK's: interrupts and alarms"});
    add_if(config.telemetry.dpdk, "telemetry-v2", "DPDK's: its telemetry socket");
    helpers.push_back({.name = "stop", .work = "at the end: waits for the last records"});
    return helpers;
}

std::uint64_t octets_of(std::span<const NodeMemory> memory) {
    return std::accumulate(
        memory.begin(), memory.end(), std::uint64_t{0},
        [](std::uint64_t sum, const NodeMemory& node) { return sum + node.pages * kPage; });
}

std::vector<MemoryPart> memory_parts(const ProbePlan& plan, const Config& config) {
    std::vector<MemoryPart> parts;
    for_each_block(
        plan, config, [&parts](const char* part, const NumaNode& node, std::uint64_t octets) {
            auto place = std::ranges::find_if(parts, [&](const MemoryPart& each) {
                return each.part == part && each.node == node;
            });
            if (place == parts.end()) {
                place = parts.insert(place, {.part = part, .node = node, .octets = 0, .used = {}});
            }
            place->octets += octets;
        });
    return parts;
}

std::vector<NodeMemory> memory_of(const ProbePlan& plan, const Config& config) {
    std::vector<NodeMemory> memory;
    for_each_block(plan, config,
                   [&memory](const char*, const NumaNode& node, std::uint64_t octets) {
                       auto place = std::ranges::find(memory, node, &NodeMemory::node);
                       if (place == memory.end()) {
                           place = memory.insert(place, {.node = node, .pages = 0});
                       }
                       place->pages += (octets + kPage - 1) / kPage;
                   });
    return memory;
}

}  // namespace tributary
