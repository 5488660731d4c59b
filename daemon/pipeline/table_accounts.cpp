// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/table_accounts.hpp"

#include <algorithm>
#include <utility>

#include "export/export_error.hpp"
#include "export/options.hpp"

namespace tributary {
namespace {

void subtract(RecordTally& from, const RecordTally& tally) noexcept {
    from.records -= tally.records;
    from.packets -= tally.packets;
    from.octets -= tally.octets;
}

/// Calls `use` with each two counters of the same meaning.
template <class Counts, class Others, class Use>
void for_both(Counts& counts, Others& others, Use use) {
    use(counts.exported, others.exported);
    use(counts.spooled, others.spooled);
    for (std::size_t cause = 0; cause < kExportLossCount; ++cause) {
        use(counts.lost.at(cause), others.lost.at(cause));
    }
}

}  // namespace

TableAccounts::Counts TableAccounts::counts_of(std::size_t place) const {
    Counts counts;
    for (std::size_t queue = 0; queue < queues_; ++queue) {
        const QueueExportCounters& of_queue = counters_->queues[(place + 1) * queues_ + queue];
        counts.exported += of_queue.exported.read();
        counts.spooled += of_queue.spooled.read();
        for (std::size_t cause = 0; cause < kExportLossCount; ++cause) {
            counts.lost.at(cause) += of_queue.read_lost(static_cast<ExportLoss>(cause));
        }
    }
    for_both(counts, places_[place].before.counts,
             [](RecordTally& now, const RecordTally& before) { subtract(now, before); });
    return counts;
}

/// Of all tables that have had its index.
TableAccounts::OfCollector TableAccounts::read_part(std::size_t table,
                                                    std::size_t collector) const {
    const CollectorTableCounters& part = counters_->collectors[collector].tables[table];
    OfCollector counts{};
    for (std::size_t row = 0; row < counts.size(); ++row) {
        counts.at(row) = (part.*kCollectorTableRows.at(row).counter).records.read();
    }
    return counts;
}

TableAccounts::OfCollector TableAccounts::counts_of(std::size_t place,
                                                    std::size_t collector) const {
    OfCollector counts = read_part(place + 1, collector);
    const std::vector<OfCollector>& before = places_[place].before.collectors;
    for (std::size_t row = 0; row < counts.size() && !before.empty(); ++row) {
        counts.at(row) -= before[collector].at(row);
    }
    return counts;
}

/// Moves what the counters have of a place's table to the account of its name.
void TableAccounts::end(Place& changed, std::size_t place, Account& former) const {
    changed.before.collectors.resize(counters_->collectors.size());
    former.collectors.resize(counters_->collectors.size());
    const auto add = [](RecordTally& sum, const RecordTally& counts) { sum += counts; };
    const Counts counts = counts_of(place);
    for_both(former.counts, counts, add);
    for_both(changed.before.counts, counts, add);
    for (std::size_t collector = 0; collector < former.collectors.size(); ++collector) {
        const OfCollector part = counts_of(place, collector);
        for (std::size_t row = 0; row < part.size(); ++row) {
            former.collectors[collector].at(row) += part.at(row);
            changed.before.collectors[collector].at(row) += part.at(row);
        }
    }
}

void TableAccounts::set(const std::vector<FurtherTable>& tables) {
    std::vector<Place> places = places_;
    auto former = former_;
    places.resize(std::max(places.size(), tables.size()));
    for (std::size_t place = 0; place < places.size(); ++place) {
        const std::string name = place < tables.size() ? tables[place].name : std::string();
        Place& changed = places[place];
        if (changed.name == name) {
            continue;
        }
        if (!changed.name.empty()) {
            end(changed, place, former[changed.name]);
        }
        changed.name = name;
        if (!name.empty()) {
            former.try_emplace(name);
        }
    }
    if (former.size() > kMostNames) {
        throw ExportError("tables of more than " + std::to_string(kMostNames) +
                          " names since the start; that needs a restart");
    }
    places_ = std::move(places);
    former_ = std::move(former);
}

void TableAccounts::read(Ledger& ledger) const {
    const auto add = [&ledger](const std::string& name, const Counts& counts) {
        TableLedger& table = ledger.table(name);
        table.exported += counts.exported;
        table.spooled += counts.spooled;
        for (std::size_t cause = 0; cause < kExportLossCount; ++cause) {
            table.lost[std::string(name_of(static_cast<ExportLoss>(cause)))] +=
                counts.lost.at(cause);
        }
    };
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if (!places_[place].name.empty()) {
            add(places_[place].name, counts_of(place));
        }
    }
    for (const auto& [name, account] : former_) {
        add(name, account.counts);
    }
}

std::map<std::string, NamedCounts, std::less<>> TableAccounts::read(std::size_t collector) const {
    std::map<std::string, NamedCounts, std::less<>> tables;
    if (former_.empty()) {
        return tables;
    }
    const auto add = [&tables](const std::string& name, const OfCollector& counts) {
        for (std::size_t row = 0; row < kCollectorTableRows.size(); ++row) {
            tables[name][kCollectorTableRows.at(row).key] += counts.at(row);
        }
    };
    add(std::string(kMainTable), read_part(0, collector));
    for (const auto& [name, account] : former_) {
        add(name, account.collectors.empty() ? OfCollector{} : account.collectors[collector]);
    }
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if (!places_[place].name.empty()) {
            add(places_[place].name, counts_of(place, collector));
        }
    }
    return tables;
}

}  // namespace tributary
