// SPDX-License-Identifier: Apache-2.0
#include "export/collector/collector_group.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "export/memory_reserve.hpp"

namespace tributary {
CollectorGroup::CollectorGroup(const ExportOptions& options, const MeteringProcess& metering,
                               ExportCounters& counters, CollectorEventHandler handler,
                               CollectorFactory factory)
    : options_(options),
      tables_(metering),
      handler_(std::move(handler)),
      factory_(std::move(factory)),
      accounting_(counters, 1),
      spool_(options, tables_.metering, accounting_, handler_) {
    std::vector<std::size_t> accounts(options.collectors.size());
    std::iota(accounts.begin(), accounts.end(), 0);
    options_.collectors.clear();
    change(options, accounts);
}

CollectorGroup::Tables::Tables(MeteringProcess process)
    : metering(std::move(process)),
      layouts(metering.layouts()),
      names(table_names(metering)),
      flow_shares(tributary::flow_shares(metering)) {
    keep_all();
}

void CollectorGroup::Tables::keep_all() noexcept {
    staying = {};
    for (std::size_t table = 0; table < names.size(); ++table) {
        if (metering.has(table)) {
            staying.add(table);
        }
    }
}

bool CollectorGroup::holds(std::size_t table) const noexcept {
    const auto has_some = [table](const Member& member) { return member.session->holds(table); };
    return table < tables_.names.size() &&
           (spool_.holds(table) || std::ranges::any_of(members_, has_some) ||
            std::ranges::any_of(retired_, has_some));
}

/// Continues the ends of retired collectors.
void CollectorGroup::retire_some(ExportTime now) {
    for (Member& member : retired_) {
        member.session->advance(now);
        const bool is_stranded = options_.mode == ExportMode::failover &&
                                 member.session->keeps_records() &&
                                 !member.session->has_session() && member.session->is_waiting();
        if (is_stranded && session(active_).is_up()) {
            rescue(*member.session, now);
        }
        // If the collector still has this account, its old session is given time to send. Its
        // successor does not wait for that.
        const bool is_patient = !is_finishing_ && has_account(member.account);
        if (is_patient ? member.session->flush(now) : end_member(member, true, now)) {
            member.session->close();
            member.session.reset();
        }
    }
    for (const Member& member : retired_) {
        show_state(member.account);  // events of the retired session are not its successor's
    }
    std::erase_if(retired_, [](const Member& member) { return member.session == nullptr; });
}

/// Whether a present collector has this account.
bool CollectorGroup::has_account(std::size_t account) const noexcept {
    return std::ranges::any_of(members_,
                               [&](const Member& member) { return member.account == account; });
}

/// Sets the gauges of a retired session's account to those of the present member with that account.
void CollectorGroup::show_state(std::size_t account) noexcept {
    accounting_.account(account).connected.set(0);
    for (const Member& member : members_) {
        if (member.account == account) {
            member.session->show_state();
        }
    }
}

void CollectorGroup::advance(ExportTime now) {
    spool_.advance(now);
    keep_order_of_topics(now);
    for (const Member& member : members_) {
        member.session->advance(now);
    }
    if (options_.mode == ExportMode::failover) {
        choose_active(now);
    }
    if (!retired_.empty()) {
        retire_some(now);
    }
    if (spool_.is_on()) {
        look_after_spool(now);
    }
}

void CollectorGroup::try_now() noexcept {
    for (const Members* const members : {&members_, &retired_}) {
        for (const Member& member : *members) {
            member.session->try_now();
        }
    }
}

bool CollectorGroup::ready(std::size_t table) const noexcept {
    const std::vector<std::size_t>& takers = takers_[table];
    if (is_for_spool_ && !takers.empty()) {
        return spool_.takes_records();
    }
    bool all_dead = true;
    bool has_room = false;
    for (const std::size_t index : takers) {
        const Member& member = members_[index];
        if (member.session->has_room()) {
            has_room = true;
            all_dead = false;
            continue;
        }
        if (waits_for_pace(member)) {
            return false;
        }
        all_dead = all_dead && member.session->is_dead();
    }
    return has_room || all_dead || spool_.takes_records();
}

/// Whether a collector's buffer is full because its messages leave at a pace, and records must wait
/// for it: an automatic pace soon follows, and with failover no other collector may have them.
bool CollectorGroup::waits_for_pace(const Member& member) const noexcept {
    const bool is_active = &member == &members_[active_];
    return member.session->is_full_by_pace() &&
           (options_.mode == ExportMode::failover ? is_active : member.session->has_own_pace());
}

/// @param copies  1 or more
/// @return        nothing: there is no memory for its account
[[gnu::always_inline]] inline std::optional<std::uint64_t> CollectorGroup::begin_record(
    Origin origin, const RecordTally& tally, std::size_t copies) noexcept {
    try {
        return accounting_.begin(origin.queue, tally, copies);
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
}

bool CollectorGroup::add(const std::byte* record, Origin origin, ExportTime now) {
    const std::vector<std::size_t>& takers = takers_[origin.layout];
    const bool has_taker = !takers.empty();
    if (!ready(origin.layout) || (has_taker && options_.mode == ExportMode::failover &&
                                  !choose_for_record(origin.layout, now))) {
        return false;
    }
    const RecordTally tally = tally_of(record, tables_.layouts[origin.layout]);
    if (!has_taker) [[unlikely]] {
        accounting_.lost_unbegun(origin.queue, tally, ExportLoss::no_collector);
        return true;
    }
    const std::optional<std::uint64_t> number =
        begin_record(origin, tally, options_.mode == ExportMode::copy ? takers.size() : 1);
    if (!number) {
        if (is_finishing_) {  // at the end it waits no longer
            lose_unbegun(origin, tally);
        }
        return is_finishing_;
    }
    const RecordToSend sent{.bytes = record,
                            .entry = {.number = *number,
                                      .queue = origin.queue,
                                      .packets = tally.packets,
                                      .octets = tally.octets},
                            .layout = origin.layout};
    switch (options_.mode) {
        case ExportMode::balance:
            add_to(share_of(record, origin.layout), sent, now);
            break;
        case ExportMode::failover:
            add_to_active(sent, now);
            break;
        case ExportMode::copy:
            for (const std::size_t index : takers) {
                add_to(index, sent, now);
            }
    }
    return true;
}

/// Counts a record without memory for its account as lost.
void CollectorGroup::lose_unbegun(Origin origin, const RecordTally& record) noexcept {
    for (const std::size_t index : takers_[origin.layout]) {
        accounting_.lost_unbegun_copy(members_[index].account, origin.queue, record,
                                      ExportLoss::buffer_full);
    }
    accounting_.lost_unbegun(origin.queue, record, ExportLoss::buffer_full);
}

void CollectorGroup::add_to(std::size_t index, const RecordToSend& record, ExportTime now) {
    if (session(index).has_room() || session(index).is_dead()) {
        session(index).add(record, now);
    } else {
        accounting_.lost(members_[index].account, record.entry, ExportLoss::buffer_full);
    }
}

/// The member that gets a record in mode balance.
std::size_t CollectorGroup::share_of(const std::byte* record, std::size_t table) const noexcept {
    const std::vector<std::size_t>& takers = takers_[table];
    std::size_t share = std::uint64_t{tables_.flow_shares[table].of(record)} * takers.size() >> 32U;
    for (std::size_t tries = 1; session(takers[share]).is_dead() && tries < takers.size();
         ++tries) {
        share = share + 1 < takers.size() ? share + 1 : 0;
    }
    return takers[share];
}

/// The index of the first collector that `is_good`; if there is none, the number of collectors.
template <class IsGood>
std::size_t CollectorGroup::first(IsGood is_good) const {
    const auto found = std::ranges::find_if(
        members_, [&](const Member& member) { return is_good(*member.session); });
    return static_cast<std::size_t>(found - members_.begin());
}

/// Ends the session of a collector that takes nothing while another one can take what waits.
void CollectorGroup::leave_stalled(ExportTime now) {
    Collector& active = session(active_);
    if (!active.has_stalled(now)) {
        return;
    }
    const std::size_t other = first([&](const Collector& each) {
        return &each != &active && each.is_up() && each.has_room() && !each.has_stalled(now);
    });
    if (other < members_.size()) {
        active.leave(now);
    }
}

/// Chooses the collector that gets the records from now on, and gives it the records that wait for
/// absent collectors.
void CollectorGroup::choose_active(ExportTime now) {
    leave_stalled(now);
    const std::size_t best = best_member(now);
    active_ = best;
    log_change(now);
    for (std::size_t index = 0; index < members_.size(); ++index) {
        const bool is_stranded =
            index != active_ && !session(index).has_session() && session(index).is_waiting();
        if (is_stranded && session(active_).is_up()) {
            rescue(session(index), now);
        }
    }
    if (session(active_).is_dead()) {  // then all are
        for (const Member& member : members_) {
            abandon(*member.session, now);
        }
    }
    is_for_spool_ = is_for_spool(now);
    show_standby();
}

/// Logs which collector has the records, if that has changed: a collector that was reached, or
/// none.
void CollectorGroup::log_change(ExportTime now) {
    if (session(active_).is_up()) {
        if (logged_active_ != active_) {
            logged_active_ = active_;
            session(active_).log_takes_over(now);
        }
        return;
    }
    const bool is_any_up =
        first([](const Collector& each) { return each.is_up(); }) < members_.size();
    if (logged_active_ && has_had_time(now) && !is_any_up && !session(active_).is_dead() &&
        !is_finishing_) {
        logged_active_.reset();
        spool_.log_none_reached(now);
    }
}

/// The first that can send and has room. If there is none, the collector that has the records now,
/// as long as it has room, and then the first with room.
std::size_t CollectorGroup::best_member(ExportTime now) {
    began_ = began_.value_or(now.uptime);
    const std::size_t up = first([](const Collector& each) {
        return each.is_up() && (each.has_room() || each.is_full_by_pace());
    });
    if (up < members_.size() && (up == 0 || has_had_time(now))) {
        was_up_ = true;
        return up;
    }
    if (session(active_).has_room() || session(active_).is_full_by_pace()) {
        return active_;
    }
    const std::size_t roomy = first([](const Collector& each) { return each.has_room(); });
    if (roomy < members_.size()) {
        return roomy;
    }
    const std::size_t living = first([](const Collector& each) { return !each.is_dead(); });
    return living < members_.size() && session(active_).is_dead() ? living : active_;
}

/// Whether the first collector's time to be reached for the first time is over.
bool CollectorGroup::has_had_time(ExportTime now) const noexcept {
    const bool is_late_for_end =
        is_finishing_ && now.uptime - end_began_ >= options_.drain_timeout / 2;
    return was_up_ || is_late_for_end || now.uptime - began_.value_or(now.uptime) >= kStartUp;
}

/// Gives the records that wait for a collector to the active one. While memory is short they wait
/// on.
void CollectorGroup::rescue(Collector& from, ExportTime now) {
    if (MemoryReserve::is_given_out()) {
        return;
    }
    from.hand_back([&](const RecordBatch& batch) { give(batch, session(active_), now); }, now);
}

/// Gives records that waited for one collector to another one.
void CollectorGroup::give(const RecordBatch& batch, Collector& to, ExportTime now) {
    if (batch.place) {
        to.add_batch(batch, now);
        return;
    }
    const std::size_t octets = record_bytes(batch.layout);
    for (std::size_t i = 0; i < batch.entries.size(); ++i) {
        to.add({.bytes = batch.records.data() + i * octets,
                .entry = batch.entries[i],
                .layout = batch.layout},
               now);
    }
}

void CollectorGroup::begin_end(ExportTime now) {
    is_finishing_ = true;
    end_began_ = now.uptime;
    if (options_.mode == ExportMode::failover) {
        choose_active(now);  // without a drain_timeout, nothing waits for the next time
    }
}

bool CollectorGroup::finish(ExportTime now, bool drained) {
    if (!is_finishing_) {
        begin_end(now);
    }
    const bool more_comes = !drained || spool_goes_on(now);
    bool all_ended = retired_.empty();  // advance() goes on with them
    was_handed_on_ = false;
    for (Member& member : members_) {
        all_ended = end_member(member, !more_comes, now) && all_ended;
    }
    all_ended = all_ended && !was_handed_on_;  // perhaps to one that had nothing left
    if (all_ended) {
        spool_.keep_for_next_process(now);
        accounting_.settle_unread();
    }
    return all_ended;
}

void CollectorGroup::end_now() noexcept {
    options_.drain_timeout = {};
    ends_now_ = true;
    for (const Members* const members : {&members_, &retired_}) {
        for (const Member& member : *members) {
            member.session->begin_end(options_.drain_timeout);  // no automatic pace delays it
        }
    }
}

/// @return  nothing is left there, and nothing comes
bool CollectorGroup::end_member(Member& member, bool drained, ExportTime now) {
    if (!member.ends_since) {
        member.ends_since = now.uptime;
        member.progress_at = now.uptime;
        member.session->begin_end(options_.drain_timeout);
        member.session->hurry();
        member.session->send_what_can_leave(now);  // it may have waited for its pace
    }
    if (drained && member.session->flush(now)) {
        return true;
    }
    if (has_failed_to_end(member, drained, now)) {
        abandon(*member.session, now);
    }
    return drained && member.session->flush(now);
}

/// Whether the collector's time for the end has passed. Before the rings are drained, an open
/// message does not count as waiting.
bool CollectorGroup::has_failed_to_end(Member& member, bool drained, ExportTime now) const {
    const std::uint64_t signs = member.session->signs_of_life();
    const bool is_held_back = !ends_now_ && member.session->is_held_back();
    if (std::exchange(member.signs_of_life, signs) != signs || is_held_back) {
        member.progress_at = now.uptime;
    }
    // Even without time for the end, messages that have left are not counted as lost before their
    // outcome is known.
    const std::chrono::nanoseconds patience = std::max<std::chrono::nanoseconds>(
        options_.drain_timeout, 2 * member.session->refusal_wait());
    const bool is_waiting = drained ? member.session->is_waiting() : member.session->has_unsent();
    const bool is_stalled = now.uptime - member.progress_at >= patience;
    const bool is_too_slow =
        now.uptime - member.ends_since.value_or(now.uptime) >= kSlowestDrain * patience;
    return is_waiting && (is_stalled || is_too_slow);
}

void CollectorGroup::close() {
    for (const Member& member : members_) {
        member.session->close();
    }
    spool_.close();
}

bool CollectorGroup::is_held_back() const noexcept {
    const auto waits = [](const Member& member) { return member.session->is_held_back(); };
    return std::ranges::any_of(members_, waits) || std::ranges::any_of(retired_, waits);
}

std::uint64_t CollectorGroup::progress() const noexcept {
    std::uint64_t sum = 0;
    for (const Members* const members : {&members_, &retired_}) {
        for (const Member& member : *members) {
            sum += member.session->progress();
        }
    }
    return sum;
}

std::string CollectorGroup::error() const {
    for (const Member& member : members_) {
        if (member.session->error().empty()) {
            return {};
        }
    }
    return members_.front().session->error();
}

}  // namespace tributary
