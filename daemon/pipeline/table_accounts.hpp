// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/pipeline/collector_rows.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "export/export_counters.hpp"
#include "export/metering_process.hpp"

namespace tributary {

/// Whose account the export's counters of each place for further tables are. Where a reload gives a
/// place to another table, its counters go on: what they were then belongs to the table before.
///
/// @thread  any, one at a time
class TableAccounts {
public:
    /// Names over the whole life of a probe.
    static constexpr std::size_t kMostNames = 256;

    /// @param counters  of an export whose queues are numbered by place; outlive this
    /// @param queues    sources of each table
    TableAccounts(const ExportCounters& counters, std::size_t queues)
        : counters_(&counters), queues_(queues) {}

    /// The places have these tables from now on. A table that goes has nothing left in the export.
    ///
    /// @errors  ExportError: there were kMostNames names already; std::bad_alloc. Nothing has
    ///          changed
    void set(const std::vector<FurtherTable>& tables);
    /// Adds an account for each name that there was, with what the export made of its records.
    void read(Ledger& ledger) const;
    /// What of a collector's account is of each table, by name; empty: there was only the main one.
    ///
    /// @param collector  its number in the counters
    [[nodiscard]] std::map<std::string, NamedCounts, std::less<>> read(std::size_t collector) const;

private:
    /// What became of a table's records.
    struct Counts {
        RecordTally exported;
        RecordTally spooled;
        std::array<RecordTally, kExportLossCount> lost{};
    };
    /// What a collector's account has of a table.
    using OfCollector = std::array<std::uint64_t, kCollectorTableRows.size()>;
    /// Both, of all collectors.
    struct Account {
        Counts counts{};
        std::vector<OfCollector> collectors{};
    };
    struct Place {
        std::string name{};  ///< empty: it is free
        Account before{};    ///< of the tables that had the place before
    };

    /// Of the table that has the place.
    [[nodiscard]] Counts counts_of(std::size_t place) const;
    [[nodiscard]] OfCollector counts_of(std::size_t place, std::size_t collector) const;
    [[nodiscard]] OfCollector read_part(std::size_t table, std::size_t collector) const;
    void end(Place& changed, std::size_t place, Account& former) const;

    const ExportCounters* counters_;
    std::size_t queues_;
    std::vector<Place> places_;
    /// Of removed tables by name; those of present ones are there, too.
    std::map<std::string, Account, std::less<>> former_;
};

}  // namespace tributary
