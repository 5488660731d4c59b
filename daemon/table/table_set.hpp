// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/pipeline/live_flows.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "daemon/table/table_memory.hpp"
#include "daemon/table/table_spreading.hpp"
#include "export/metering_process.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/filter_slot.hpp"
#include "flowcache/input/flow_watcher.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/record/record_stream.hpp"
#include "flowcache/table/own_field.hpp"
#include "flowcache/table/table_declaration.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

class DeclaredTable;
class ExchangeQueues;

/// Of which memory and how a queue's part of the tables is made.
struct TableQueuePlace {
    std::optional<unsigned> numa_node{};
    PageUse pages = PageUse::live;
    WhenRingFull when_ring_full = WhenRingFull::refuse;
};

/// Makes what looks at the flows of a table in one of its queues.
///
/// @param own    fields of the user's own that the table uses
/// @param place  of the queue
/// @errors       TableError; std::bad_alloc
using WatchTable = std::function<std::unique_ptr<FlowWatcher>(
    const DeclaredTable& table, std::span<const OwnField> own, const TableQueuePlace& place)>;

/// What the tables of a process are made of.
struct TableSetParts {
    std::span<const TableDeclaration> declarations;  ///< at most kMostTables
    std::span<const OwnField> own;                   ///< all fields of the user's own
    const FlowCacheOptions& main;                    ///< of the main table
    ParseOptions parse;  ///< of the packets; with own fields of all inputs the same
    /// Of tables with `spread: key`; in the order of a capture of all tables, with at most
    /// kMostQueuesBetween queues.
    TableSpreading spreading{};
    /// Called for tables that triggers name (TableDeclaration::dump_files).
    WatchTable watch{};
};

/// A filter that the packets of a table must pass.
struct TableFilter {
    std::string owner;       ///< the table, and the field of the user's own, for messages
    std::string path;        ///< of its key in the configuration that made it, likewise
    std::string expression;  ///< in pcap syntax
    FilterSlot* slot{};      ///< where the compiled filter belongs
};

/// How the packets of an input are spread over its queues.
struct InputSpread {
    std::size_t queues{};
    bool by_ports{};  ///< by ports too, not by addresses alone
};

/// A table in which a flow may have so many records at a time.
struct SplitTable {
    std::string name;
    std::size_t records{};
};

/// The tables that begin and end by a change.
struct TableNames {
    std::vector<std::string> added;
    std::vector<std::string> ending;  ///< a table that is changed is in both
};

/// The declared tables of a process, and what each queue makes of them. It outlives the pipeline
/// whose stages and records are here.
///
/// Each table has a place, from 0: in the export its index is that number + 1. A reload gives a new
/// table a free one, and the table that it follows keeps its own until its last record has left.
///
/// @thread  made, changed and destroyed by main; functions that say so by any
class TableSet {
    struct Table;
    using Places = std::array<std::shared_ptr<Table>, kTablePlaces>;

public:
    /// @errors  TableError: names the table
    explicit TableSet(const TableSetParts& parts);
    TableSet(const TableSet&) = delete;
    TableSet& operator=(const TableSet&) = delete;
    ~TableSet();

    /// As the exporters know them, by place; those of free ones between them have no name.
    [[nodiscard]] std::vector<FurtherTable> for_export() const;
    /// The filters to be compiled: a table's own, and `when` of each of its fields. Until all are
    /// in their slots, the table's packets are counted as `filter_not_ready`.
    [[nodiscard]] std::vector<TableFilter> filters() const;

    /// Whether packets go from queue to queue. In the order of a capture they must have numbers
    /// then.
    /// @thread  any
    [[nodiscard]] bool has_exchanges() const noexcept {
        return has_exchanges_.load(std::memory_order_relaxed);
    }
    /// Where input threads may not all have started: no queue waits for another one any more.
    /// @thread  any
    void abandon() noexcept;
    /// Counts as refused, cause `owner_ended`, what queues have sent to one that had ended by then.
    /// After abandon() alone there is something.
    /// @thread  main, after the input threads have ended
    void refuse_rest() noexcept;

    /// Makes the part of a further queue: of all TableSpreading::queues, before any of them runs.
    ///
    /// @return  the stages that account its packets
    /// @errors  std::bad_alloc, also MemoryShortage
    [[nodiscard]] StageList add_queue(const TableQueuePlace& place, FlowHasher hasher);

    // Other tables, while input threads run

    /// What prepare() has made.
    class Change {
        friend class TableSet;
        std::vector<TableFilter> filters_;
        std::vector<std::shared_ptr<Table>> added_;
        std::vector<std::shared_ptr<Table>> ending_;
    };
    /// Makes the tables that a new configuration adds or changes. A table stays that has the same
    /// declaration, timeouts apart, and the same fields of the user's own.
    ///
    /// Until take_over(), former tables may still go.
    ///
    /// @param wanted  the same main table, packets and queues
    /// @return        nullptr: all tables stay. Else what take_over() takes, or nothing has changed
    /// @errors        TableError: names the table, or says that no place is free; std::bad_alloc,
    ///                also MemoryShortage
    /// @cost          makes and touches the memory of the new tables
    [[nodiscard]] std::unique_ptr<Change> prepare(const TableSetParts& wanted);
    /// The filters of the new tables, as filters().
    [[nodiscard]] static std::vector<TableFilter> filters(const Change& change);
    /// As for_export(), of the tables as they are from the change on.
    [[nodiscard]] std::vector<FurtherTable> for_export(const Change& change) const;
    /// As records(), likewise.
    [[nodiscard]] std::vector<RecordSource*> records(const Change& change) const;
    /// From now on stages() has the new tables, and ends the flows of those that are not wanted any
    /// more. Neither has effect until the input threads call these stages.
    ///
    /// A new table with `spread: key` needs two rounds over all queues: a queue whose packets are
    /// the new table's sends them to queues that must receive them. So, where must_receive(), the
    /// stages of the first round leave each queue's packets to the former tables, and new tables
    /// only receive. switch_over() follows, and the second round. Each packet is in the former
    /// tables or in the new ones. Where a change comes before the one before it has come to its
    /// switch_over(), because an input thread hangs, both have one.
    ///
    /// @param change  after that, of use for names() and filters() alone
    void take_over(const Change& change) noexcept;
    /// The tables that a change begins and ends.
    [[nodiscard]] static TableNames names(const Change& change);
    [[nodiscard]] bool must_receive() const noexcept;
    /// All input threads call the stages of the first round.
    void switch_over() noexcept;
    /// The stages of a queue: of all tables, but those of begin_removal().
    /// @errors  std::bad_alloc
    [[nodiscard]] StageList stages(std::size_t queue) const;
    /// Whether there are tables that a change has ended.
    [[nodiscard]] bool has_ending() const noexcept;
    /// The places of tables that have no flow any more, and whose records the export thread has
    /// taken.
    [[nodiscard]] std::vector<std::size_t> ended() const;
    /// stages() has no stage of this table any more, which has ended.
    ///
    /// @return  whether it had one
    bool begin_removal(std::size_t place) noexcept;
    /// As for_export() and records(), without the table of this place.
    [[nodiscard]] std::vector<FurtherTable> for_export_without(std::size_t place) const;
    [[nodiscard]] std::vector<RecordSource*> records_without(std::size_t place) const;
    /// The table's account goes to those of former tables of its name. What still uses it, through
    /// live(), keeps it.
    ///
    /// @param place  neither an input thread nor the export has it
    /// @return       its filters, which nothing uses any more
    /// @errors       std::bad_alloc: nothing has changed
    std::vector<TableFilter> remove(std::size_t place);

    /// The tables with their parts, for commands; not those that end.
    /// @thread  any
    [[nodiscard]] std::vector<LiveTable> live() const;
    /// The records of all parts that were made.
    [[nodiscard]] std::vector<RecordSource*> records() const;
    /// Whether all caches got explicit huge pages.
    [[nodiscard]] bool huge_pages() const noexcept;
    /// What each table takes in a queue, those that end included.
    /// @thread  any
    [[nodiscard]] std::vector<TableMemory> memory() const;
    /// Flows in the caches of a queue's parts, and room for them.
    /// @param queue  in the order of add_queue()
    /// @thread       any
    [[nodiscard]] RingFill flows(std::size_t queue) const;
    /// Records in the rings of a queue's parts, and room for them.
    /// @thread  any
    [[nodiscard]] RingFill rings(std::size_t queue) const;
    /// Extracts in the inboxes of a queue's parts, and room for them.
    /// @thread  any
    [[nodiscard]] RingFill inboxes(std::size_t queue) const;
    /// The tables in which a flow may have several records at a time, one of each queue that its
    /// packets come to: because their keys lack fields by which packets are spread over queues, or
    /// the interface.
    [[nodiscard]] std::vector<SplitTable> split_tables(std::span<const InputSpread> inputs) const;

    /// Adds what the queues' packets and flows became, after Pipeline::read() has added the rest.
    /// Tables of one name, present and former, have one account.
    /// @thread  any
    void read(Ledger& ledger) const;

private:
    [[nodiscard]] Places with(const Change& change) const;
    void note_exchanges() noexcept;
    void add_part(Table& table, const TableQueuePlace& place) const;
    [[nodiscard]] std::shared_ptr<Table> make_table(const TableSetParts& wanted, std::size_t number,
                                                    const Places& taken) const;
    [[nodiscard]] static std::size_t free_place(const Places& taken, std::size_t wanted);
    [[nodiscard]] static bool is_wanted(const Table& table, const TableSetParts& wanted);
    template <class Use>
    void for_each(Use use) const;
    static void read(const Table& table, TableLedger& ledger);

    std::unique_ptr<ExchangeQueues> queues_between_;  ///< before tables, which point to it
    WatchTable watch_;
    std::vector<TableQueuePlace> queues_;  ///< of add_queue()
    FlowHasher hasher_{0};                 ///< likewise
    std::atomic<bool> has_exchanges_{false};
    mutable std::mutex mutex_;  ///< of `places_` and `former_`, which main changes and any reads
    Places places_;
    std::map<std::string, TableLedger, std::less<>> former_;  ///< accounts of removed tables
};

}  // namespace tributary
