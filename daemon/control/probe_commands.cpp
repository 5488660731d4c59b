// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/probe_commands.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace tributary {
namespace {

using nlohmann::json;

/// Unknown is null.
template <class Value>
json or_null(const std::optional<Value>& value) {
    return value ? json(*value) : json(nullptr);
}

/// Of all tables.
std::uint64_t forced_ends(const Ledger& ledger) {
    constexpr auto kForced = static_cast<std::size_t>(FlowEndReason::forced_end);
    std::uint64_t ends = ledger.total().ended.at(kForced);
    for (const TableLedger& table : ledger.tables) {
        ends += table.ended.at(kForced);
    }
    return ends;
}

}  // namespace

std::string to_json(const ProbeFigures& figures) {
    json rings = json::array();
    for (const RingFill& ring : figures.rings) {
        rings.push_back({{"records", ring.records}, {"room", ring.room}});
    }
    json inputs = json::array();
    for (const InputFigures& input : figures.inputs) {
        inputs.push_back({{"name", input.name}, {"link", name_of(input.link)}});
    }
    json threads = json::array();
    for (const ThreadLoad* thread : figures.threads) {
        threads.push_back({{"name", thread->thread},
                           {"rounds", thread->rounds.read()},
                           {"busy_cycles", thread->busy_cycles.read()},
                           {"idle_cycles", thread->idle_cycles.read()}});
    }
    json helpers = json::array();
    for (const auto& [thread, node] : figures.helpers) {
        using Seconds = std::chrono::duration<double>;
        helpers.push_back({{"id", thread.id},
                           {"name", thread.name},
                           {"role", name_of(thread.role)},
                           {"cpus", cpu_list(thread.cpus)},
                           {"node", or_null(node)},
                           {"cpu_seconds", thread.cpu_time ? json(Seconds(*thread.cpu_time).count())
                                                           : json(nullptr)},
                           {"hangs", or_null(thread.hangs)}});
    }
    json memory = json::array();
    for (const MemoryPart& part : figures.memory) {
        memory.push_back({{"part", part.part},
                          {"node", or_null(part.node)},
                          {"octets", part.octets},
                          {"used", or_null(part.used)}});
    }
    for (const HeapUse& use : figures.heap) {
        memory.push_back({{"part", "heap"},
                          {"node", or_null(use.node)},
                          {"octets", use.resident},
                          {"used", use.allocated}});
    }
    json collectors = json::array();
    for (const CollectorFigures& collector : figures.collectors) {
        collectors.push_back(
            {{"name", collector.name}, {"spool_max_octets", collector.spool_max_octets}});
    }
    const json all{{"started", figures.started.time_since_epoch().count()},
                   {"now", figures.now.time_since_epoch().count()},
                   {"host_uptime", figures.host_uptime.count()},
                   {"version", figures.version},
                   {"max_flows", figures.max_flows},
                   {"rings", std::move(rings)},
                   {"inputs", std::move(inputs)},
                   {"collectors", std::move(collectors)},
                   {"threads", std::move(threads)},
                   {"helpers", std::move(helpers)},
                   {"memory", std::move(memory)}};
    return all.dump();
}

ControlServer::Commands probe_commands(const ProbeAnswers& answers) {
    ControlServer::Commands commands;
    commands["stats"] = [ledger = answers.ledger](const std::string&, ControlReply& reply) {
        reply.write(to_json(ledger()));
    };
    commands["figures"] = [figures = answers.figures](const std::string&, ControlReply& reply) {
        reply.write(to_json(figures()));
    };
    commands["flows"] = [flows = answers.flows](const std::string& table, ControlReply& reply) {
        flows(table, [&reply](MessageView message) { return reply.write(message); });
    };
    commands["flush"] = [answers](const std::string&, ControlReply& reply) {
        const std::uint64_t before = forced_ends(answers.ledger());
        answers.flush();
        reply.write(std::to_string(forced_ends(answers.ledger()) - before) + " flows ended\n");
    };
    commands["reload"] = [reload = answers.reload](const std::string&, ControlReply& reply) {
        reply.write(reload() + "\n");
    };
    return commands;
}

}  // namespace tributary
