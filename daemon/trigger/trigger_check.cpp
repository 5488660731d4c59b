// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_check.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "conf/config_section.hpp"
#include "conf/declared_tables.hpp"
#include "daemon/trigger/watched_table.hpp"
#include "export/listing/flow_filter.hpp"
#include "export/listing/record_viewer.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {
namespace {

/// What the records of a table are, without its field group being among those of all records.
struct CheckedRecords {
    RecordLayout layout;
    TableElements elements;
    std::span<const FieldElement> of_group{};
    FlowFilter::Aliases aliases{};
};

CheckedRecords main_records(const Config& config) {
    return {.layout = layout_of_flows(config.export_.fields, config.flows),
            .elements = {.key = config.flows.key, .is_declared = false, .name = {}}};
}

CheckedRecords declared_records(const CompiledTable& table) {
    FieldGroups groups;
    groups.set(kFieldGroupId<PacketDumpGroup>);
    CheckedRecords records{.layout = RecordLayout::of(groups, table.declaration().direction),
                           .elements = {.key = table.key(), .is_declared = true, .name = {}},
                           .aliases = aliases_of(table)};
    records.elements.key.extension = KeyExtension::none;
    if (table.group() != nullptr) {
        records.of_group = table.group()->elements;
    }
    return records;
}

/// @return  what is wrong; nothing: it is good
std::optional<std::string> fault_of(const TriggerOptions& trigger, const CheckedRecords& records,
                                    TimestampUnit timestamps) {
    try {
        const FlowFilter when(trigger.when, records.aliases);
        RecordViewer(records.layout, records.elements, timestamps, records.of_group).check(when);
        return std::nullopt;
    } catch (const FilterError& error) {
        return error.what();
    }
}

bool has_address(const KeyDescriptor& key) noexcept {
    return key.source.ipv4 != 0 || key.source.ipv6 != 0 || key.destination.ipv4 != 0 ||
           key.destination.ipv6 != 0;
}

void check(const TriggerOptions& trigger, const CheckedRecords& records, const Config& config,
           const Section& section) {
    const std::optional<std::string> fault = fault_of(trigger, records, config.export_.timestamps);
    section.demand("when", !fault,
                   " is " + shown(trigger.when) + "; must be a filter of the records of table " +
                       trigger.table + " (" + fault.value_or("") + ")");
    section.demand("packets",
                   trigger.packets != TriggerPackets::hosts || has_address(records.elements.key),
                   " is hosts, but the key of table " + trigger.table +
                       " has no address; must be flow or all");
}

}  // namespace

void check_conditions(const Config& config, const YamlNode& root, Faults& faults) {
    for (std::size_t index = 0; index < config.triggers.size(); ++index) {
        const TriggerOptions& trigger = config.triggers[index];
        const Section section(root, "triggers." + std::to_string(index), faults);
        if (trigger.when.empty()) {
            continue;
        }
        if (trigger.table == kMainTable) {
            check(trigger, main_records(config), config, section);
            continue;
        }
        const auto table = std::ranges::find(config.tables, trigger.table, &TableDeclaration::name);
        const std::unique_ptr<const CompiledTable> compiled =
            table != config.tables.end() ? compile_if_good(config, *table) : nullptr;
        if (compiled != nullptr) {
            check(trigger, declared_records(*compiled), config, section);
        }
    }
}

}  // namespace tributary
