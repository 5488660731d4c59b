// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_set.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "daemon/table/table_stage.hpp"
#include "flowcache/table/field_reference.hpp"

namespace tributary {
namespace {

/// From the kernel's random source, for TableUse::seed.
std::uint64_t random_seed() {
    std::random_device source;
    constexpr unsigned kHalf = 32;
    return std::uint64_t{source()} << kHalf | source();
}

std::string path_of(const char* list, std::size_t index, const char* key) {
    return std::string(list) + "." + std::to_string(index) + "." + key;
}

}  // namespace

/// @param number  of the declaration, from 0
TableSet::Table::Table(const TableSetParts& parts, std::size_t number)
    : declared(parts.declarations[number], parts.own, {.parse = parts.parse, .seed = random_seed()},
               parts.main, number + 1) {
    const auto add = [this](std::string path, const std::string& expression) {
        if (!expression.empty()) {
            filters.push_back(
                {.path = std::move(path), .expression = expression, .slot = &slots.emplace_back()});
        }
    };
    add(path_of("tables", number, "filter"), parts.declarations[number].filter);
    for (const std::size_t field : declared.compiled().own_fields()) {
        add(path_of("fields", field, "when"), parts.own[field].when);
    }
}

TableSet::TableSet(const TableSetParts& parts) {
    for (std::size_t number = 0; number < parts.declarations.size(); ++number) {
        try {
            tables_.push_back(std::make_unique<Table>(parts, number));
        } catch (const TableError& error) {
            throw TableError("table " + parts.declarations[number].name + ": " + error.what());
        }
    }
}

TableSet::~TableSet() {
    while (!tables_.empty()) {
        tables_.pop_back();
    }
}

std::vector<FurtherTable> TableSet::for_export() const {
    std::vector<FurtherTable> further;
    for (const auto& table : tables_) {
        further.push_back(table->declared.for_export());
    }
    return further;
}

std::vector<TableFilter> TableSet::filters() const {
    std::vector<TableFilter> all;
    for (const auto& table : tables_) {
        all.insert(all.end(), table->filters.begin(), table->filters.end());
    }
    return all;
}

StageList TableSet::add_queue(const TableQueuePlace& place, FlowHasher hasher) {
    std::vector<std::unique_ptr<BurstStage>> stages;
    for (const auto& table : tables_) {
        const CompiledTable& compiled = table->declared.compiled();
        table->queues.push_back(make_table_queue({.table = table->declared,
                                                  .filters = &table->slots,
                                                  .numa_node = place.numa_node,
                                                  .pages = place.pages,
                                                  .when_ring_full = place.when_ring_full},
                                                 hasher));
        stages.push_back(std::make_unique<TableStage>(
            *table->queues.back(),
            StageNeeds{.name = "table " + compiled.declaration().name,
                       .order = StageOrder::tables,
                       .octets = !table->slots.empty() || compiled.has_own_fields()}));
    }
    return StageList(std::move(stages));
}

std::vector<LiveTable> TableSet::live() const {
    std::vector<LiveTable> live;
    for (const auto& table : tables_) {
        LiveTable& each = live.emplace_back(LiveTable{table->declared.for_export(), {}});
        for (const auto& queue : table->queues) {
            each.queues.push_back(queue.get());
        }
    }
    return live;
}

std::vector<RecordSource*> TableSet::records() const {
    std::vector<RecordSource*> records;
    for (const auto& table : tables_) {
        for (const auto& queue : table->queues) {
            records.push_back(&queue->records());
        }
    }
    return records;
}

bool TableSet::huge_pages() const noexcept {
    return std::ranges::all_of(tables_, [](const auto& table) {
        return std::ranges::all_of(table->queues,
                                   [](const auto& queue) { return queue->huge_pages(); });
    });
}

std::vector<std::array<std::size_t, 2>> TableSet::memory() const {
    std::vector<std::array<std::size_t, 2>> memory;
    for (const auto& table : tables_) {
        memory.push_back(table_memory({.table = table->declared}));
    }
    return memory;
}

RingFill TableSet::flows(std::size_t queue) const {
    RingFill sum;
    for (const auto& table : tables_) {
        const CacheCounters& counters = table->queues[queue]->counters.cache;
        // The counters are not read at one instant.
        const std::uint64_t ended = counters.read_ended();
        const std::uint64_t created = counters.flows_created.read();
        sum.records += created - std::min(ended, created);
        sum.room += table->declared.options().max_flows;
    }
    return sum;
}

RingFill TableSet::rings(std::size_t queue) const {
    RingFill sum;
    for (const auto& table : tables_) {
        const RingFill ring = table->queues[queue]->ring();
        sum.records += ring.records;
        sum.room += ring.room;
    }
    return sum;
}

std::vector<std::string> TableSet::split_by_queues(bool by_ports) const {
    std::vector<std::string> names;
    for (const auto& table : tables_) {
        const KeyDescriptor& key = table->declared.options().key;
        const bool has_addresses =
            key.source == AddressPrefix{} && key.destination == AddressPrefix{};
        const bool has_ports = key.source_port && key.destination_port;
        if (!has_addresses || (by_ports && !has_ports)) {
            names.push_back(table->declared.compiled().declaration().name);
        }
    }
    return names;
}

void TableSet::read(Ledger& ledger) const {
    for (std::size_t index = 0; index < tables_.size(); ++index) {
        TableLedger& table = ledger.tables[index];
        for (const auto& queue : tables_[index]->queues) {
            read_cache(queue->counters.cache, table);
            table.filtered += queue->counters.filtered.read();
            table.filter_not_ready += queue->counters.filter_not_ready.read();
            table.without_field += queue->counters.without_field.read();
            table.matched += queue->counters.matched.read();
        }
    }
}

}  // namespace tributary
