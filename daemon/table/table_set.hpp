// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/pipeline/live_flows.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "daemon/table/declared_table.hpp"
#include "daemon/table/filter_slot.hpp"
#include "daemon/table/table_memory.hpp"
#include "daemon/table/table_queue.hpp"
#include "daemon/table/table_spreading.hpp"
#include "export/metering_process.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/record/record_stream.hpp"
#include "flowcache/table/own_field.hpp"
#include "flowcache/table/table_declaration.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

class ExchangeQueues;
class TableExchange;

/// What the tables of a process are made of.
struct TableSetParts {
    std::span<const TableDeclaration> declarations;  ///< at most kMostTables
    std::span<const OwnField> own;                   ///< all fields of the user's own
    const FlowCacheOptions& main;                    ///< of the main table
    ParseOptions parse;  ///< of the packets; with own fields of all inputs the same
    /// Of tables with `spread: key`; in the order of a capture of all tables, with at most
    /// kMostQueuesBetween queues.
    TableSpreading spreading{};
};

/// A filter that the packets of a table must pass.
struct TableFilter {
    std::string path;        ///< of its key in the configuration, for messages
    std::string expression;  ///< in pcap syntax
    FilterSlot* slot{};      ///< where the compiled filter belongs
};

/// Of which memory and how a queue's part of the tables is made.
struct TableQueuePlace {
    std::optional<unsigned> numa_node{};
    PageUse pages = PageUse::live;
    WhenRingFull when_ring_full = WhenRingFull::refuse;
};

/// The declared tables of a process, and what each queue makes of them. It outlives the pipeline
/// whose stages and records are here.
///
/// @thread  made, filled and destroyed by main, while no other thread uses a field group
class TableSet {
public:
    /// @errors  TableError: names the table
    explicit TableSet(const TableSetParts& parts);
    TableSet(const TableSet&) = delete;
    TableSet& operator=(const TableSet&) = delete;
    /// The tables go in the reverse order of their making, which is that of their field groups.
    ~TableSet();

    [[nodiscard]] bool empty() const noexcept { return tables_.empty(); }
    /// As the exporters know them, in the order of their declarations.
    [[nodiscard]] std::vector<FurtherTable> for_export() const;
    /// The filters to be compiled: a table's own, and `when` of each of its fields. Until all are
    /// in their slots, the table's packets are counted as `filter_not_ready`.
    [[nodiscard]] std::vector<TableFilter> filters() const;

    /// Whether packets go from queue to queue. In the order of a capture they must have numbers
    /// then.
    [[nodiscard]] bool has_exchanges() const noexcept;
    /// Where input threads may not all have started: no queue waits for another one any more.
    /// @thread  any
    void abandon() noexcept;

    /// Makes the part of a further queue: of all TableSpreading::queues, before any of them runs.
    ///
    /// @return  the stages that account its packets
    /// @errors  std::bad_alloc, also MemoryShortage
    [[nodiscard]] StageList add_queue(const TableQueuePlace& place, FlowHasher hasher);
    /// The tables with their parts that were made, for commands.
    [[nodiscard]] std::vector<LiveTable> live() const;
    /// The records of all parts that were made.
    [[nodiscard]] std::vector<RecordSource*> records() const;
    /// Whether all caches got explicit huge pages.
    [[nodiscard]] bool huge_pages() const noexcept;
    /// What each table takes in a queue.
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
    /// The tables in which a flow may have a record for each queue, because their keys lack fields
    /// by which packets are spread over queues.
    ///
    /// @param by_ports  packets are spread by their ports too, not by addresses alone
    [[nodiscard]] std::vector<std::string> split_by_queues(bool by_ports) const;

    /// Adds what the queues' packets and flows became, after Pipeline::read() has added the rest.
    /// @thread  any
    void read(Ledger& ledger) const;

private:
    struct Table {
        Table(const TableSetParts& parts, std::size_t number, ExchangeQueues& queues_between);
        Table(const Table&) = delete;
        Table& operator=(const Table&) = delete;
        ~Table();

        DeclaredTable declared;
        std::unique_ptr<TableExchange> exchange{};  ///< with `spread: key` and several queues
        std::deque<FilterSlot> slots{};      ///< do not move: queues and filters point to them
        std::vector<TableFilter> filters{};  ///< one for each slot
        std::vector<std::unique_ptr<TableQueue>> queues{};
    };

    std::unique_ptr<ExchangeQueues> queues_between_;  ///< before tables_, which point to it
    std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace tributary
