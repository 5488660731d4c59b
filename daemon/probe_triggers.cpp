// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe_triggers.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/base/options.hpp"
#include "daemon/machine/host_clock.hpp"
#include "daemon/trigger/trigger_command.hpp"
#include "daemon/trigger/trigger_stage.hpp"
#include "daemon/trigger/watched_table.hpp"
#include "flowcache/cache_room.hpp"
#include "flowcache/table/field_reference.hpp"

namespace tributary {
namespace {

/// How packets of the rings are parsed: as those of the inputs, but that the recorder may have cut
/// them behind their headers.
ParseOptions parse_of_rings(const Config& config) {
    ParseOptions parse = parse_options(config.flows, ParseMode::full, 0);
    parse.keep_cut_headers = true;
    return parse;
}

}  // namespace

ProbeTriggers::ProbeTriggers(const Config& config, const RecordLayout& layout,
                             std::vector<DumpQueue> rings, std::span<const NumaNode> nodes,
                             FlowHasher hasher)
    : config_(config),
      set_(config.triggers, config.export_.timestamps, WhenEventsFull::refuse),
      dumps_(set_, std::move(rings), hasher, host_clock) {
    if (!config.flows.dump_files) {
        return;
    }
    for (const NumaNode& node : nodes) {
        main_.push_back(set_.watch(watch_main(layout, config.flows, parse_of_rings(config)),
                                   {.entries = entries_for(config.flows), .numa_node = node}));
    }
}

void ProbeTriggers::add_stage(std::size_t queue, StageList& stages) {
    if (!main_.empty()) {
        stages.add(std::make_unique<TriggerStage>(*main_[queue]));
    }
}

std::unique_ptr<FlowWatcher> ProbeTriggers::watch(const DeclaredTable& table,
                                                  std::span<const OwnField> own,
                                                  const TableQueuePlace& place) {
    try {
        return set_.watch(watch_declared({table.compiled(), table.layout(), table.options()},
                                         config_.flows, own, parse_of_rings(config_)),
                          {.entries = entries_for(table.options()),
                           .numa_node = place.numa_node,
                           .pages = place.pages});
    } catch (const FilterError& error) {
        throw TableError(std::string("triggers: ") + error.what());
    }
}

bool ProbeTriggers::huge_pages() const noexcept {
    return std::ranges::all_of(main_, [](const auto& each) { return each->huge_pages(); });
}

ControlCommands ProbeTriggers::commands() { return trigger_commands(dumps_); }

}  // namespace tributary
