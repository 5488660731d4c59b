// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_set.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "daemon/table/table_exchange.hpp"
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

/// Whether packets of a table go to the queues that own their keys. In the order of a capture those
/// of all tables do, so that records do not depend on the number of queues.
bool is_exchanged(const TableSetParts& parts, std::size_t number) {
    const TableSpreading& spreading = parts.spreading;
    const bool is_chosen = parts.declarations[number].spread == TableSpread::key;
    const bool is_offline =
        spreading.order == SpreadOrder::capture && spreading.queues <= kMostQueuesBetween;
    return spreading.queues > 1 && (is_chosen || is_offline);
}

/// @errors  TableError
TableUse use_of(const TableSetParts& parts, std::size_t number) {
    const bool is_gathered = is_exchanged(parts, number);
    if (is_gathered && parts.spreading.queues > kMostQueuesBetween) {
        throw TableError("spread: key takes a ring from each queue to each other, for at most " +
                         std::to_string(kMostQueuesBetween) + " queues; there are " +
                         std::to_string(parts.spreading.queues) +
                         ": use fewer queues, or spread: queue");
    }
    return {.parse = parts.parse,
            .seed = random_seed(),
            .packets = is_gathered ? TablePackets::gathered : TablePackets::whole};
}

std::string path_of(const char* list, std::size_t index, const char* key) {
    return std::string(list) + "." + std::to_string(index) + "." + key;
}

}  // namespace

/// @param number  of the declaration, from 0
TableSet::Table::Table(const TableSetParts& parts, std::size_t number,
                       ExchangeQueues& queues_between)
    : declared(parts.declarations[number], parts.own, use_of(parts, number), parts.main,
               number + 1) {
    if (is_exchanged(parts, number)) {
        exchange = std::make_unique<TableExchange>(declared, parts.spreading, queues_between);
    }
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

TableSet::Table::~Table() = default;

TableSet::TableSet(const TableSetParts& parts)
    : queues_between_(std::make_unique<ExchangeQueues>(parts.spreading.queues)) {
    for (std::size_t number = 0; number < parts.declarations.size(); ++number) {
        try {
            tables_.push_back(std::make_unique<Table>(parts, number, *queues_between_));
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

bool TableSet::has_exchanges() const noexcept {
    return std::ranges::any_of(tables_,
                               [](const auto& table) { return table->exchange != nullptr; });
}

void TableSet::abandon() noexcept { queues_between_->abandon(); }

StageList TableSet::add_queue(const TableQueuePlace& place, FlowHasher hasher) {
    std::vector<std::unique_ptr<BurstStage>> stages;
    for (const auto& table : tables_) {
        const CompiledTable& compiled = table->declared.compiled();
        if (table->exchange != nullptr) {
            table->exchange->add_inbox(place.numa_node, place.pages);
        }
        table->queues.push_back(make_table_queue({.table = table->declared,
                                                  .filters = &table->slots,
                                                  .exchange = table->exchange.get(),
                                                  .queue = table->queues.size(),
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

std::vector<TableMemory> TableSet::memory() const {
    std::vector<TableMemory> memory;
    for (const auto& table : tables_) {
        const auto [cache, ring] = table_memory({.table = table->declared});
        const TableExchange* const exchange = table->exchange.get();
        memory.push_back(
            {.cache = cache,
             .ring = ring,
             .inbox = exchange == nullptr
                          ? 0
                          : TableExchange::inbox_bytes(exchange->table(), exchange->spreading())});
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

RingFill TableSet::inboxes(std::size_t queue) const {
    RingFill sum;
    for (const auto& table : tables_) {
        if (table->exchange != nullptr) {
            const RingFill fill = table->exchange->inbox(queue);
            sum.records += fill.records;
            sum.room += fill.room;
        }
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
        const bool is_split = !has_addresses || (by_ports && !has_ports);
        if (is_split && table->exchange == nullptr) {
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
            if (tables_[index]->exchange != nullptr) {
                table.refused["ring_full"] += queue->counters.refused_ring_full.read();
            }
        }
    }
}

}  // namespace tributary
