// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/table_accounts.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "export/export_error.hpp"

using namespace tributary;

namespace {

constexpr std::size_t kQueues = 2;

/// The counters of an export, and whose they are.
struct Export {
    Export() {
        std::vector<std::size_t> tables;
        for (std::size_t table = 0; table <= kTablePlaces; ++table) {
            tables.insert(tables.end(), kQueues, table);
        }
        counters.make_parts(tables, 1 + kTablePlaces);
    }
    /// A record of a place is exported, and the first collector has it.
    void count(std::size_t place, std::size_t queue) {
        counters.queues[(place + 1) * kQueues + queue].exported.add({1, 2, 3});
        counters.collectors[0].tables[place + 1].records.add({1, 2, 3});
    }
    void lose(std::size_t place) {
        counters.queues[(place + 1) * kQueues].lose(ExportLoss::spool_full, {1, 2, 3});
        counters.collectors[1].tables[place + 1].lost.add({1, 2, 3});
    }
    void set(const std::vector<std::string>& names) {
        std::vector<FurtherTable> tables;
        for (const std::string& name : names) {
            tables.emplace_back().name = name;
        }
        accounts.set(tables);
    }
    [[nodiscard]] TableLedger account(const std::string& name) const {
        Ledger ledger;
        accounts.read(ledger);
        return ledger.table(name);
    }

    ExportCounters counters{kQueues * (1 + kTablePlaces), 2};
    TableAccounts accounts{counters, kQueues};
};

}  // namespace

TEST_CASE("TableAccounts: without another table than the main one there is none",
          "[daemon][unit]") {
    const Export run;
    Ledger ledger;
    run.accounts.read(ledger);
    CHECK(ledger.tables.empty());
    CHECK(run.accounts.read(0).empty());
}

TEST_CASE("TableAccounts: the counters of a place are those of one table after the other",
          "[daemon][unit]") {
    Export run;
    run.set({"nets", "ports"});
    run.count(0, 0);
    run.count(0, 1);
    run.count(1, 1);
    run.lose(0);
    run.set({"", "ports", "nets"});  // it has changed, and its former self has gone
    CHECK(run.account("nets").exported == RecordTally{2, 4, 6});
    run.set({"hosts", "ports", "nets"});
    CHECK(run.account("hosts").exported == RecordTally{});
    run.count(0, 0);
    run.count(2, 0);
    CHECK(run.account("nets").exported == RecordTally{3, 6, 9});
    CHECK(run.account("nets").lost.at("spool_full") == RecordTally{1, 2, 3});
    CHECK(run.account("hosts").exported == RecordTally{1, 2, 3});
    CHECK(run.account("hosts").lost.at("spool_full") == RecordTally{});
    CHECK(run.account("ports").exported == RecordTally{1, 2, 3});
    run.set({});
    CHECK(run.account("nets").exported == RecordTally{3, 6, 9});
    CHECK(run.account("hosts").exported == RecordTally{1, 2, 3});

    const auto first = run.accounts.read(0);
    const auto second = run.accounts.read(1);
    CHECK(first.size() == 4);
    CHECK(first.at("main").at("records") == 0);
    CHECK(first.at("nets").at("records") == 3);
    CHECK(first.at("hosts").at("records") == 1);
    CHECK(first.at("ports").at("records") == 1);
    CHECK(second.at("nets").at("records") == 0);
    CHECK(second.at("nets").at("lost") == 1);
}

TEST_CASE("TableAccounts: a probe has only so many names", "[daemon][unit]") {
    Export run;
    for (std::size_t name = 0; name < TableAccounts::kMostNames; ++name) {
        run.set({"t" + std::to_string(name)});
    }
    CHECK_THROWS_AS(run.set({"another"}), ExportError);
    run.set({"t0"});
    run.count(0, 0);
    CHECK(run.account("t0").exported.records == 1);
}
