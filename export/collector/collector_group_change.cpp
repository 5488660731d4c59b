// SPDX-License-Identifier: Apache-2.0
// Other collectors, or other options for all of them, while records are exported.
#include <algorithm>
#include <functional>
#include <utility>

#include "export/collector/collector_change.hpp"
#include "export/collector/collector_group.hpp"

namespace tributary {
namespace {

/// The options that all sessions depend on.
ExportOptions common_part(ExportOptions options) {
    options.collectors.clear();
    options.drain_timeout = {};
    options.spool = {};
    // Of the mode only one thing matters: whether records are kept for another collector.
    options.mode = options.mode == ExportMode::failover ? ExportMode::failover : ExportMode::copy;
    return options;
}

}  // namespace

CollectorGroup::Takers CollectorGroup::takers_among(const Members& members, std::size_t tables) {
    Takers takers(tables);
    const auto add_if_taker = [&](std::size_t index, std::size_t table) {
        if (members[index].tables.has(table)) {
            takers[table].push_back(index);
        }
    };
    for (std::size_t index = 0; index < members.size(); ++index) {
        for (std::size_t table = 0; table < takers.size(); ++table) {
            add_if_taker(index, table);
        }
    }
    return takers;
}

/// How many collectors get a record at the most.
std::size_t CollectorGroup::most_copies(ExportMode mode, const Takers& takers) noexcept {
    std::size_t most = 1;
    for (const std::vector<std::size_t>& of_table : takers) {
        most = std::max(most, mode == ExportMode::copy ? of_table.size() : 1);
    }
    return most;
}

/// The members that the options name.
CollectorGroup::Members CollectorGroup::members_for(const ExportOptions& options,
                                                    std::span<const std::size_t> accounts,
                                                    const Tables& tables) {
    Members wanted(options.collectors.size());
    for (std::size_t index = 0; index < wanted.size(); ++index) {
        wanted[index].options = options.collectors[index];
        wanted[index].account = accounts[index];
        wanted[index].tables = taken_tables(wanted[index].options, tables.names);
    }
    return wanted;
}

/// In mode failover each collector may get the records of any other one.
void CollectorGroup::check_tables(const Members& wanted, ExportMode mode) const {
    for (const Member& member : wanted) {
        if (mode == ExportMode::failover && member.tables != wanted.front().tables) {
            throw ExportError(describe(member.options) + " has other tables than " +
                              describe(wanted.front().options) +
                              ", and in mode failover all collectors have the same");
        }
    }
}

/// The tables from a change on.
///
/// @errors  ExportError: one that goes is still here
CollectorGroup::Tables CollectorGroup::next_tables(const std::vector<FurtherTable>* further) const {
    if (further == nullptr) {
        return tables_;
    }
    MeteringProcess metering = tables_.metering;
    metering.further = *further;
    Tables next(std::move(metering));
    const std::vector<FurtherTable>& before = tables_.metering.further;
    for (std::size_t place = 0; place < further->size(); ++place) {
        const FurtherTable former = place < before.size() ? before[place] : FurtherTable();
        if (former.is_same_as((*further)[place])) {
            continue;
        }
        if (former.is_there() && holds(place + 1)) {
            throw ExportError("records of the former table " + former.name +
                              " still wait for a collector; try again later");
        }
        next.staying.remove(place + 1);
    }
    return next;
}

/// A table that ends still goes to the collectors that took it, though these do not name it any
/// more.
void CollectorGroup::keep_ending(Members& wanted, const Tables& tables) const {
    TakenTables ending;
    const std::vector<FurtherTable>& further = tables.metering.further;
    for (std::size_t place = 0; place < further.size(); ++place) {
        if (further[place].is_ending) {
            ending.add(place + 1);
        }
    }
    for (Member& member : wanted) {
        member.tables.add(taken_by(member.account).common(ending));
    }
}

/// What present collectors with this account take.
TakenTables CollectorGroup::taken_by(std::size_t account) const noexcept {
    TakenTables taken;
    for (const Member& member : members_) {
        if (member.account == account) {
            taken.add(member.tables);
        }
    }
    return taken;
}

/// Prepares the tables of all sessions that there are, those that this change retires included.
///
/// @errors  ExportError; std::bad_alloc
CollectorGroup::TableChanges CollectorGroup::prepare_tables(const Members& wanted,
                                                            const Tables& tables) const {
    TableChanges changes;
    const auto prepare = [&](const Member& member, const TakenTables& taken, bool takes_new) {
        const TableChoice choice{.taken = taken, .staying = tables.staying, .takes_new = takes_new};
        try {
            changes.sessions.emplace_back(member.session.get(),
                                          member.session->prepare_tables(tables.metering, choice));
        } catch (const ExportError& fault) {
            throw ExportError(describe(member.options) + ": " + fault.what());
        }
    };
    for (std::size_t index = 0; index < members_.size(); ++index) {
        const auto next = std::ranges::find_if(
            wanted, [index](const Member& member) { return member.former == index; });
        const bool goes_on = next != wanted.end();
        prepare(members_[index], goes_on ? next->tables : members_[index].tables, goes_on);
    }
    for (const Member& member : retired_) {
        prepare(member, member.tables, false);
    }
    changes.spool = spool_.prepare_tables(tables.metering, tables.staying);
    return changes;
}

void CollectorGroup::take_over(TableChanges changes) noexcept {
    for (auto& [session, prepared] : changes.sessions) {
        session->take_tables(std::move(prepared));
    }
    if (changes.spool != nullptr) {
        spool_.take_tables(std::move(changes.spool));
    }
}

std::vector<std::string> CollectorGroup::change(const ExportOptions& options,
                                                std::span<const std::size_t> accounts,
                                                const std::vector<FurtherTable>* further,
                                                ChangeReason reason) {
    const bool is_same = options == options_ && further == nullptr;
    const bool is_reload = reason == ChangeReason::reload;
    if (!is_same && is_reload && retired_.size() >= kMostRetired) {
        throw ExportError("too many collectors removed by former reloads still get records");
    }
    // What may fail for lack of memory comes before anything changes.
    ExportOptions next = options;
    retired_.reserve(retired_.size() + members_.size());
    if (options.spool.directory != options_.spool.directory) {
        throw ExportError("export.spool.directory would change; that needs a restart");
    }
    const bool all_anew = common_part(options) != common_part(options_);
    for (const Member& member : members_) {
        refuse_end(member, options, all_anew);
    }
    Tables tables = next_tables(further);
    Members wanted = members_for(options, accounts, tables);
    check_tables(wanted, options.mode);
    keep_ending(wanted, tables);
    Takers takers = takers_among(wanted, tables.names.size());
    if (!all_anew) {
        find_formers(wanted);
    }
    std::vector<std::string> with_new_files =
        is_reload ? prepare_changes(wanted) : std::vector<std::string>();
    if (is_same) {
        carry_out_changes(wanted);
        return with_new_files;
    }
    TableChanges table_changes = prepare_tables(wanted, tables);
    // Files last: an existing file gets another name, and another collector may still be refused.
    begin_sessions(wanted, options, tables, false);
    begin_sessions(wanted, options, tables, true);
    carry_out_changes(wanted);
    take_over(std::move(table_changes));
    take_over(std::move(wanted));
    const std::size_t copies = most_copies(options.mode, takers);
    if (copies != most_copies(options_.mode, takers_)) {
        accounting_.set_copies(copies);
    }
    takers_ = std::move(takers);
    tables_ = std::move(tables);
    tables_.keep_all();
    spool_.set_max_octets(options.spool.max_octets);
    options_ = std::move(next);
    show_standby();
    return with_new_files;
}

/// Sets the gauges of the collector that has the records alone.
void CollectorGroup::show_standby() noexcept {
    for (std::size_t index = 0; index < members_.size(); ++index) {
        const bool is_standby = options_.mode == ExportMode::failover && index != active_;
        accounting_.account(members_[index].account).standby.set(is_standby ? 1 : 0);
    }
}

/// Makes the sessions of new collectors.
///
/// @param of_files  those of files, or all others
void CollectorGroup::begin_sessions(Members& wanted, const ExportOptions& options,
                                    const Tables& tables, bool of_files) {
    for (std::size_t index = 0; index < wanted.size(); ++index) {
        Member& member = wanted[index];
        const bool is_failover = options.mode == ExportMode::failover;
        const bool is_file = member.options.transport == TransportKind::file;
        if (!member.former && is_file == of_files) {
            refuse_shared_place(member.options);
            member.session = factory_({.options = options,
                                       .option = index,
                                       .metering = tables.metering,
                                       .accounting = accounting_,
                                       .account = member.account,
                                       .group_spool = is_failover ? &spool_ : nullptr,
                                       .handler = handler_});
        }
    }
}

/// Replaces the present members by these. The present ones go on among them or are retired.
void CollectorGroup::take_over(Members wanted) noexcept {
    ++changes_;
    const Collector* const active = members_.empty() ? nullptr : &session(active_);
    for (Member& member : wanted) {
        if (!member.former) {
            accounting_.account(member.account).failed.set(0);
            member.made_by = changes_;
            continue;
        }
        Member& former = members_[*member.former];
        member.session = std::move(former.session);
        member.made_by = former.made_by;
    }
    for (Member& member : members_) {
        if (member.session != nullptr) {
            retired_.push_back(std::move(member));
        }
    }
    members_ = std::move(wanted);
    if (!members_.front().former) {  // its first connection may take a while, as at the start
        was_up_ = false;
        began_.reset();
    }
    const auto still_active = std::ranges::find_if(
        members_, [active](const Member& member) { return member.session.get() == active; });
    active_ = still_active != members_.end()
                  ? static_cast<std::size_t>(still_active - members_.begin())
                  : 0;
    logged_active_ = active_;
}

/// Finds the members whose sessions collectors continue: those with just these options, those that
/// differ in their tables alone, and those with the same spool or the same rotated file.
void CollectorGroup::find_formers(Members& wanted) const {
    find_formers(wanted, std::equal_to<>());
    find_formers(wanted, [](CollectorOptions today, const CollectorOptions& next) {
        today.tables = next.tables;
        return today == next;
    });
    find_formers(wanted, [](const CollectorOptions& today, const CollectorOptions& next) {
        return is_bound(today) && share_place(today, next);
    });
}

/// Finds those whose options of today and next are so. No two collectors continue one session.
template <class AreSo>
void CollectorGroup::find_formers(Members& wanted, AreSo are_so) const {
    const auto is_continued = [&wanted](std::size_t index) {
        return std::ranges::any_of(
            wanted, [index](const Member& member) { return member.former == index; });
    };
    for (Member& member : wanted) {
        for (std::size_t index = 0; index < members_.size() && !member.former; ++index) {
            const bool is_it =
                !is_continued(index) && are_so(members_[index].options, member.options);
            member.former = is_it ? std::optional(index) : std::nullopt;
        }
    }
}

/// Prepares the changes of collectors that go on.
///
/// @return  names of those whose files have changed, and were read anew
/// @errors  ExportError: there is no way to another address, or such files are unusable
std::vector<std::string> CollectorGroup::prepare_changes(Members& wanted) const {
    std::vector<std::string> names;
    for (Member& member : wanted) {
        if (!member.former) {
            continue;
        }
        const Member& today = members_[*member.former];
        member.change = today.session->prepare_change(today.options, member.options);
        if (member.change != nullptr && member.change->has_read_files) {
            names.push_back(describe(member.options));
        }
    }
    return names;
}

/// Only after everything that may fail.
void CollectorGroup::carry_out_changes(Members& wanted) const noexcept {
    for (Member& member : wanted) {
        if (member.former && member.change != nullptr) {
            members_[*member.former].session->change(std::move(member.change));
        }
    }
}

/// The end of a rotated file may wait for a disk and a command, and the others' records with it.
/// Records in a spool are counted at the end of the process, and were made for its collector.
void CollectorGroup::refuse_end(const Member& member, const ExportOptions& wanted,
                                bool all_anew) const {
    if (!is_bound(member.options)) {
        return;
    }
    const std::string why =
        std::string(member.options.spool.is_on() ? ", and it has a spool"
                                                 : ", and its files are rotated") +
        "; that needs a restart";
    const std::string name = describe(member.options) + ": ";
    if (all_anew) {
        throw ExportError(name + common_changes(options_, wanted) + " would change" + why);
    }
    const auto next = std::ranges::find_if(wanted.collectors, [&](const CollectorOptions& each) {
        return each == member.options || share_place(each, member.options);
    });
    if (next == wanted.collectors.end()) {
        const bool stays =
            std::ranges::any_of(wanted.collectors, [&](const CollectorOptions& each) {
                return describe(each) == describe(member.options);
            });
        throw ExportError(name +
                          (!stays                         ? "would be removed"
                           : member.options.spool.is_on() ? "spool.directory would change"
                                                          : "path would change") +
                          why);
    }
    if (const std::string fixed = fixed_changes(member.options, *next); !fixed.empty()) {
        throw ExportError(name + fixed + " would change" + why);
    }
}

void CollectorGroup::refuse_shared_place(const CollectorOptions& collector) const {
    const auto is_in_use = [&collector](const Member& member) {
        return share_place(collector, member.options);
    };
    if (std::ranges::any_of(members_, is_in_use) || std::ranges::any_of(retired_, is_in_use)) {
        throw ExportError(describe(collector) + " would change, and its file or spool is in use");
    }
}
}  // namespace tributary
