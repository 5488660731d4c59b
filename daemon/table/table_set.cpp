// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_set.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <set>
#include <utility>

#include "daemon/machine/node_heap.hpp"
#include "daemon/table/declared_table.hpp"
#include "daemon/table/table_exchange.hpp"
#include "daemon/table/table_queue.hpp"
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

/// A table at its place, and its parts in all queues.
struct TableSet::Table {
    /// @param number  of the declaration, from 0
    Table(const TableSetParts& parts, std::size_t number, std::size_t place,
          ExchangeQueues& queues_between);
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    ~Table() = default;

    [[nodiscard]] const std::string& name() const noexcept {
        return declared.compiled().declaration().name;
    }
    [[nodiscard]] FurtherTable for_export() const {
        FurtherTable table = declared.for_export();
        table.is_ending = is_ending;
        return table;
    }
    /// @return  nullptr: it begins with switch_over(), and receives nothing before
    [[nodiscard]] std::unique_ptr<BurstStage> stage(std::size_t queue) const;
    /// Whether no flow and no record is left here. Extracts first: they become flows.
    [[nodiscard]] bool has_ended() const noexcept {
        return is_ending && (exchange == nullptr || exchange->is_empty()) &&
               std::ranges::all_of(queues, [](const auto& queue) {
                   return queue->has_ended() && queue->ring().records == 0;
               });
    }

    DeclaredTable declared;
    std::vector<OwnField> own{};                ///< that it uses
    std::unique_ptr<TableExchange> exchange{};  ///< with `spread: key` and several queues
    std::deque<FilterSlot> slots{};             ///< do not move: queues and filters point to them
    std::vector<TableFilter> filters{};         ///< one for each slot
    std::vector<std::unique_ptr<FlowWatcher>> watchers{};  ///< of triggers, for each queue
    std::vector<std::unique_ptr<TableQueue>> queues{};
    bool is_ending = false;
    bool is_called = true;      ///< by stages of the input threads, or will be
    bool is_switching = false;  ///< it begins or ends by the next switch_over()
};

TableSet::Table::Table(const TableSetParts& parts, std::size_t number, std::size_t place,
                       ExchangeQueues& queues_between)
    : declared(parts.declarations[number], parts.own, use_of(parts, number), parts.main,
               place + 1) {
    if (is_exchanged(parts, number)) {
        exchange = std::make_unique<TableExchange>(declared, parts.spreading, queues_between);
    }
    const auto add = [this](std::string owner, std::string path, const std::string& expression) {
        if (!expression.empty()) {
            filters.push_back({.owner = std::move(owner),
                               .path = std::move(path),
                               .expression = expression,
                               .slot = &slots.emplace_back()});
        }
    };
    add("table " + name(), path_of("tables", number, "filter"), parts.declarations[number].filter);
    for (const std::size_t field : declared.compiled().own_fields()) {
        add("table " + name() + ", field " + parts.own[field].name,
            path_of("fields", field, "when"), parts.own[field].when);
        own.push_back(parts.own[field]);
    }
}

std::unique_ptr<BurstStage> TableSet::Table::stage(std::size_t queue) const {
    StageNeeds needs{.name = "table " + name(),
                     .order = StageOrder::tables,
                     .octets = !slots.empty() || declared.compiled().has_own_fields()};
    const bool has_packets = is_ending == is_switching;
    if (has_packets) {
        return std::make_unique<TableStage>(*queues[queue], std::move(needs));
    }
    needs.octets = false;
    if (is_ending) {
        return std::make_unique<EndingTableStage>(*queues[queue], std::move(needs));
    }
    return exchange == nullptr
               ? nullptr
               : std::make_unique<ReceivingTableStage>(*queues[queue], std::move(needs));
}

TableSet::TableSet(const TableSetParts& parts)
    : queues_between_(std::make_unique<ExchangeQueues>(parts.spreading.queues)),
      watch_(parts.watch) {
    for (std::size_t number = 0; number < parts.declarations.size(); ++number) {
        try {
            places_.at(number) = std::make_shared<Table>(parts, number, number, *queues_between_);
        } catch (const TableError& error) {
            throw TableError("table " + parts.declarations[number].name + ": " + error.what());
        }
    }
    note_exchanges();
}

TableSet::~TableSet() = default;

/// Calls `use` with each table, while none comes or goes.
template <class Use>
void TableSet::for_each(Use use) const {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Table>& table : places_) {
        if (table != nullptr) {
            use(*table);
        }
    }
}

namespace {

/// @return  by place, as far as the last one that is taken
template <class Places>
std::vector<FurtherTable> exported(const Places& places) {
    std::vector<FurtherTable> further;
    for (std::size_t place = 0; place < places.size(); ++place) {
        if (places[place] != nullptr) {
            further.resize(place + 1);
            further[place] = places[place]->for_export();
        }
    }
    return further;
}

template <class Places>
std::vector<RecordSource*> records_of(const Places& places) {
    std::vector<RecordSource*> records;
    for (const auto& table : places) {
        for (std::size_t queue = 0; table != nullptr && queue < table->queues.size(); ++queue) {
            records.push_back(&table->queues[queue]->records());
        }
    }
    return records;
}

}  // namespace

std::vector<FurtherTable> TableSet::for_export() const { return exported(places_); }

std::vector<TableFilter> TableSet::filters() const {
    std::vector<TableFilter> all;
    for_each([&all](const Table& table) {
        all.insert(all.end(), table.filters.begin(), table.filters.end());
    });
    return all;
}

void TableSet::note_exchanges() noexcept {
    has_exchanges_.store(
        std::ranges::any_of(
            places_,
            [](const auto& table) { return table != nullptr && table->exchange != nullptr; }),
        std::memory_order_relaxed);
}

void TableSet::abandon() noexcept { queues_between_->abandon(); }

void TableSet::refuse_rest() noexcept {
    for_each([](const Table& table) {
        for (const auto& queue : table.queues) {
            queue->refuse_rest();
        }
    });
}

/// Makes a table's part of a queue.
void TableSet::add_part(Table& table, const TableQueuePlace& place) const {
    if (table.exchange != nullptr) {
        table.exchange->add_inbox(place.numa_node, place.pages);
    }
    const std::size_t queue = table.queues.size();
    FlowWatcher* watcher = nullptr;
    if (watch_ && table.declared.options().dump_files) {
        table.watchers.push_back(watch_(table.declared, table.own, place));
        watcher = table.watchers.back().get();
    }
    table.queues.push_back(
        make_table_queue({.table = table.declared,
                          .filters = table.slots.empty() ? nullptr : &table.slots,
                          .exchange = table.exchange.get(),
                          .queue = queue,
                          .numa_node = place.numa_node,
                          .pages = place.pages,
                          .when_ring_full = place.when_ring_full,
                          .watcher = watcher},
                         hasher_));
}

StageList TableSet::add_queue(const TableQueuePlace& place, FlowHasher hasher) {
    hasher_ = hasher;
    for (const std::shared_ptr<Table>& table : places_) {
        if (table != nullptr) {
            add_part(*table, place);
        }
    }
    queues_.push_back(place);
    return stages(queues_.size() - 1);
}

StageList TableSet::stages(std::size_t queue) const {
    std::vector<std::unique_ptr<BurstStage>> stages;
    for (const std::shared_ptr<Table>& table : places_) {
        std::unique_ptr<BurstStage> stage =
            table != nullptr && table->is_called ? table->stage(queue) : nullptr;
        if (stage != nullptr) {
            stages.push_back(std::move(stage));
        }
    }
    return StageList(std::move(stages));
}

/// Whether a new configuration has this table as it is, its timeouts apart.
bool TableSet::is_wanted(const Table& table, const TableSetParts& wanted) {
    TableDeclaration own = table.declared.compiled().declaration();
    const auto same = std::ranges::find_if(wanted.declarations, [&own](const auto& other) {
        own.idle_timeout = other.idle_timeout;
        own.active_timeout = other.active_timeout;
        return own == other;
    });
    return !table.is_ending && same != wanted.declarations.end() &&
           std::ranges::all_of(table.own, [&wanted](const OwnField& field) {
               return std::ranges::find(wanted.own, field) != wanted.own.end();
           });
}

/// That with the table's number in the configuration, if it is free: a process that begins with the
/// same configuration has the table there, too.
///
/// @errors  TableError
std::size_t TableSet::free_place(const Places& taken, std::size_t wanted) {
    if (taken.at(wanted) == nullptr) {
        return wanted;
    }
    const auto free = std::ranges::find(taken, nullptr);
    if (free == taken.end()) {
        throw TableError(
            "there is no place for it, because records of tables that former reloads have removed "
            "still wait for their collectors");
    }
    return static_cast<std::size_t>(free - taken.begin());
}

/// Makes a table with its parts of all queues, at a free place.
///
/// @param number  of its declaration
/// @errors  as prepare()
std::shared_ptr<TableSet::Table> TableSet::make_table(const TableSetParts& wanted,
                                                      std::size_t number,
                                                      const Places& taken) const {
    try {
        auto table =
            std::make_shared<Table>(wanted, number, free_place(taken, number), *queues_between_);
        for (const TableQueuePlace& queue : queues_) {
            const NodeHeap heap(queue.numa_node);
            add_part(*table, queue);
        }
        return table;
    } catch (const TableError& error) {
        throw TableError("table " + wanted.declarations[number].name + ": " + error.what());
    }
}

std::unique_ptr<TableSet::Change> TableSet::prepare(const TableSetParts& wanted) {
    auto change = std::make_unique<Change>();
    Places places = places_;
    std::set<std::string, std::less<>> staying;
    for (const std::shared_ptr<Table>& table : places_) {
        if (table != nullptr && is_wanted(*table, wanted)) {
            staying.insert(table->name());
        } else if (table != nullptr && !table->is_ending) {
            change->ending_.push_back(table);
        }
    }
    for (std::size_t number = 0; number < wanted.declarations.size(); ++number) {
        if (staying.contains(wanted.declarations[number].name)) {
            continue;
        }
        std::shared_ptr<Table> table = make_table(wanted, number, places);
        change->filters_.insert(change->filters_.end(), table->filters.begin(),
                                table->filters.end());
        places.at(table->declared.index() - 1) = table;
        change->added_.push_back(std::move(table));
    }
    return change->added_.empty() && change->ending_.empty() ? nullptr : std::move(change);
}

std::vector<TableFilter> TableSet::filters(const Change& change) { return change.filters_; }

/// The present tables, with those that a change adds.
TableSet::Places TableSet::with(const Change& change) const {
    Places places = places_;
    for (const std::shared_ptr<Table>& table : change.added_) {
        places.at(table->declared.index() - 1) = table;
    }
    return places;
}

std::vector<FurtherTable> TableSet::for_export(const Change& change) const {
    std::vector<FurtherTable> further = exported(with(change));
    for (const std::shared_ptr<Table>& table : change.ending_) {
        further[table->declared.index() - 1].is_ending = true;
    }
    return further;
}

std::vector<RecordSource*> TableSet::records(const Change& change) const {
    return records_of(with(change));
}

TableNames TableSet::names(const Change& change) {
    TableNames names;
    for (const std::shared_ptr<Table>& table : change.added_) {
        names.added.push_back(table->name());
    }
    for (const std::shared_ptr<Table>& table : change.ending_) {
        names.ending.push_back(table->name());
    }
    return names;
}

void TableSet::take_over(const Change& change) noexcept {
    // Where a change before has not come to its switch_over(), the tables that it ends still have
    // the packets. So those that begin now wait for that as well.
    const bool takes_two_rounds =
        must_receive() || std::ranges::any_of(change.added_, [](const auto& table) {
            return table->exchange != nullptr;
        });
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Table>& table : change.ending_) {
        table->is_ending = true;
        // A table that was to begin with that switch_over() has no packets, and gets none.
        table->is_switching = takes_two_rounds && !table->is_switching;
    }
    for (const std::shared_ptr<Table>& table : change.added_) {
        table->is_switching = takes_two_rounds;
    }
    places_ = with(change);
    note_exchanges();
}

bool TableSet::must_receive() const noexcept {
    return std::ranges::any_of(
        places_, [](const auto& table) { return table != nullptr && table->is_switching; });
}

void TableSet::switch_over() noexcept {
    for (const std::shared_ptr<Table>& table : places_) {
        if (table != nullptr) {
            table->is_switching = false;
        }
    }
}

bool TableSet::has_ending() const noexcept {
    return std::ranges::any_of(
        places_, [](const auto& table) { return table != nullptr && table->is_ending; });
}

std::vector<std::size_t> TableSet::ended() const {
    std::vector<std::size_t> ended;
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if (places_[place] != nullptr && places_[place]->has_ended()) {
            ended.push_back(place);
        }
    }
    return ended;
}

bool TableSet::begin_removal(std::size_t place) noexcept {
    return std::exchange(places_[place]->is_called, false);
}

std::vector<FurtherTable> TableSet::for_export_without(std::size_t place) const {
    Places rest = places_;
    rest.at(place).reset();
    return exported(rest);
}

std::vector<RecordSource*> TableSet::records_without(std::size_t place) const {
    Places rest = places_;
    rest.at(place).reset();
    return records_of(rest);
}

std::vector<TableFilter> TableSet::remove(std::size_t place) {
    const std::shared_ptr<Table> table = places_[place];
    TableLedger account;
    read(*table, account);
    const std::lock_guard lock(mutex_);
    TableLedger& former = former_[table->name()];
    account += former;  // the last that may find no memory
    std::swap(former, account);
    places_[place].reset();
    note_exchanges();
    return std::move(table->filters);
}

std::vector<LiveTable> TableSet::live() const {
    std::vector<LiveTable> live;
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Table>& table : places_) {
        if (table == nullptr || table->is_ending) {
            continue;
        }
        LiveTable& each = live.emplace_back(LiveTable{.table = table->for_export(), .queues = {}});
        for (const auto& queue : table->queues) {
            each.queues.emplace_back(table, queue.get());
        }
    }
    return live;
}

std::vector<RecordSource*> TableSet::records() const { return records_of(places_); }

bool TableSet::huge_pages() const noexcept {
    bool are_all = true;
    for_each([&are_all](const Table& table) {
        are_all = are_all && std::ranges::all_of(table.queues, [](const auto& queue) {
                      return queue->huge_pages();
                  });
    });
    return are_all;
}

std::vector<TableMemory> TableSet::memory() const {
    std::vector<TableMemory> memory;
    for_each([&memory](const Table& table) {
        const auto [cache, ring] = table_memory({.table = table.declared});
        const TableExchange* const exchange = table.exchange.get();
        memory.push_back(
            {.cache = cache,
             .ring = ring,
             .inbox = exchange == nullptr
                          ? 0
                          : TableExchange::inbox_bytes(exchange->table(), exchange->spreading())});
    });
    return memory;
}

RingFill TableSet::flows(std::size_t queue) const {
    RingFill sum;
    for_each([&sum, queue](const Table& table) {
        const CacheCounters& counters = table.queues[queue]->counters.cache;
        // The counters are not read at one instant.
        const std::uint64_t ended = counters.read_ended();
        const std::uint64_t created = counters.flows_created.read();
        sum.records += created - std::min(ended, created);
        sum.room += table.declared.options().max_flows;
    });
    return sum;
}

RingFill TableSet::rings(std::size_t queue) const {
    RingFill sum;
    for_each([&sum, queue](const Table& table) {
        const RingFill ring = table.queues[queue]->ring();
        sum.records += ring.records;
        sum.room += ring.room;
    });
    return sum;
}

RingFill TableSet::inboxes(std::size_t queue) const {
    RingFill sum;
    for_each([&sum, queue](const Table& table) {
        if (table.exchange != nullptr) {
            const RingFill fill = table.exchange->inbox(queue);
            sum.records += fill.records;
            sum.room += fill.room;
        }
    });
    return sum;
}

namespace {

/// Records that a flow with this key may have at a time.
std::size_t records_of_flow(const KeyDescriptor& key, std::span<const InputSpread> inputs) {
    const bool has_addresses = key.source == AddressPrefix{} && key.destination == AddressPrefix{};
    const bool has_ports = key.source_port && key.destination_port;
    std::size_t most = 0;
    std::size_t sum = 0;
    for (const InputSpread& input : inputs) {
        const bool is_in_one = has_addresses && (has_ports || !input.by_ports);
        const std::size_t records = is_in_one ? 1 : input.queues;
        most = std::max(most, records);
        sum += records;
    }
    return key.ingress_interface ? most : sum;
}

}  // namespace

std::vector<SplitTable> TableSet::split_tables(std::span<const InputSpread> inputs) const {
    std::vector<SplitTable> split;
    for_each([&split, inputs](const Table& table) {
        const std::size_t records = records_of_flow(table.declared.options().key, inputs);
        if (records > 1 && table.exchange == nullptr && !table.is_ending) {
            split.push_back({.name = table.name(), .records = records});
        }
    });
    return split;
}

/// Adds what became of the packets and flows of a table.
void TableSet::read(const Table& table, TableLedger& ledger) {
    for (const auto& queue : table.queues) {
        read_cache(queue->counters.cache, ledger);
        const TableCounters& counters = queue->counters;
        ledger.filtered += counters.filtered.read();
        ledger.filter_not_ready += counters.filter_not_ready.read();
        ledger.without_field += counters.without_field.read();
        ledger.matched += counters.matched.read();
        ledger.metered += counters.metered.read();
        if (table.exchange != nullptr) {
            ledger.refused["ring_full"] += counters.refused_ring_full.read();
            ledger.refused["owner_ended"] += counters.refused_owner_ended.read();
        }
    }
}

void TableSet::read(Ledger& ledger) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, account] : former_) {
        ledger.table(name) += account;
    }
    for (const std::shared_ptr<Table>& table : places_) {
        if (table != nullptr) {
            read(*table, ledger.table(table->name()));
        }
    }
}

}  // namespace tributary
