// SPDX-License-Identifier: Apache-2.0
// When records go to the group's spool, and when they leave it.
#include <algorithm>

#include "export/collector/collector_group.hpp"
#include "export/memory_reserve.hpp"

namespace tributary {

/// Whether new records go to the spool: behind those that are there, and while no collector can
/// take them.
bool CollectorGroup::is_for_spool(ExportTime now) const noexcept {
    if (!spool_.takes_records()) {
        return false;
    }
    const Collector& active = session(active_);
    if (spool_.holds_records()) {
        return true;
    }
    if (active.is_up()) {
        return !active.has_room() && !active.is_full_by_pace();
    }
    return has_had_time(now) || !active.has_room();
}

/// Makes sure that the next record has a place: in the spool, or with the active collector.
///
/// @return  false: not now
bool CollectorGroup::choose_for_record(std::size_t layout, ExportTime now) {
    if (!is_for_spool_ && !session(active_).has_room()) {
        choose_active(now);
    }
    const bool has_place = !is_for_spool_ || spool_.has_room(layout) || write_to_spool(now);
    return has_place && ready(layout);
}

/// Only after choose_for_record().
void CollectorGroup::add_to_active(const RecordToSend& record, ExportTime now) {
    if (is_for_spool_) {
        spool_.add(record, now);
        session(active_).note_spooled(record_bytes(record.layout));
    } else {
        add_to(active_, record, now);
    }
}

/// Writes the spool's batch in memory to the disk. The first batch takes the records that wait in
/// the collectors' memory with it.
///
/// @return  false: the disk refuses it
bool CollectorGroup::write_to_spool(ExportTime now) {
    const auto copy = [now](const Member& member) {
        return !member.session->keeps_records() || member.session->copy_to_spool(now);
    };
    const bool are_copied = spool_.holds_on_disk() || (std::ranges::all_of(retired_, copy) &&
                                                       std::ranges::all_of(members_, copy));
    return are_copied && spool_.write(now);
}

/// Whether records that wait in the collectors' memory have to be copied to the disk, because no
/// collector takes them: a process that is killed would lose them.
bool CollectorGroup::copies_are_due(ExportTime now) const noexcept {
    const Collector& active = session(active_);
    const bool none_takes = !active.is_up() || active.has_stalled(now);
    return options_.mode == ExportMode::failover && none_takes && has_had_time(now) &&
           !spool_.holds_on_disk() && now.uptime - copied_at_ >= options_.flush_interval;
}

void CollectorGroup::look_after_spool(ExportTime now) {
    if (!spool_gave_up_) {
        send_from_spool(now);
    }
    const bool is_due = spool_.is_due(now) || copies_are_due(now);
    if (is_due && spool_.takes_records()) {
        copied_at_ = now.uptime;
        static_cast<void>(write_to_spool(now));  // else it stays, and is tried again
    }
    for (const Member& member : members_) {
        member.session->set_older_in_spool(spool_.holds_records());
    }
    is_for_spool_ = options_.mode == ExportMode::failover && is_for_spool(now);
}

/// Sends as much as the active collector has room for, and at most half a buffer, because the rings
/// wait meanwhile.
void CollectorGroup::send_from_spool(ExportTime now) {
    Collector& active = session(active_);
    std::size_t sent = 0;
    while (spool_.holds_records() && active.has_room_for_batch() && sent < active.buffer() / 2) {
        const std::size_t octets = spool_.send_to(active, now);
        if (octets == 0) {
            return;
        }
        sent += octets;
    }
}

/// The end: whether more may come from the spool. It is given up as a collector is.
bool CollectorGroup::spool_goes_on(ExportTime now) {
    if (!spool_.is_on() || spool_gave_up_) {
        return false;
    }
    const std::uint64_t signs = signs_of_life();
    if (!spool_ends_since_ || signs != spool_signs_ || is_held_back()) {
        spool_progress_at_ = now.uptime;
    }
    spool_ends_since_ = spool_ends_since_.value_or(now.uptime);
    spool_signs_ = signs;
    const bool is_stalled = now.uptime - spool_progress_at_ >= options_.drain_timeout;
    const bool is_too_slow =
        now.uptime - *spool_ends_since_ >= kSlowestDrain * options_.drain_timeout;
    spool_gave_up_ = spool_.holds_records() && (is_stalled || is_too_slow);
    return spool_.holds_records() && !spool_gave_up_;
}

std::uint64_t CollectorGroup::signs_of_life() const noexcept {
    std::uint64_t sum = 0;
    for (const Member& member : members_) {
        sum += member.session->signs_of_life();
    }
    return sum;
}

/// The collector that gets the records of one that is given up at the end; nullptr: none can have
/// them.
CollectorGroup::Member* CollectorGroup::successor_of(const Collector& session) noexcept {
    const bool can_have = is_finishing_ && options_.mode == ExportMode::failover &&
                          session.keeps_records() && !MemoryReserve::is_given_out();
    const auto found = std::ranges::find_if(members_, [&](const Member& member) {
        return member.session.get() != &session && member.session->is_up();
    });
    return can_have && found != members_.end() ? &*found : nullptr;
}

/// Gives a collector up. Records that are left there go to the spool, if there is one, or to
/// another collector of mode failover, and else are lost.
void CollectorGroup::abandon(Collector& session, ExportTime now) {
    if (spool_.is_on() && session.keeps_records()) {
        session.end_and_hand_back([&](RecordBatch& batch) { spool_.take_back(batch, now); }, now);
        return;
    }
    Member* const successor = successor_of(session);
    if (successor == nullptr) {
        session.abandon(now);
        return;
    }
    session.end_and_hand_back(
        [&](const RecordBatch& batch) { give(batch, *successor->session, now); }, now);
    successor->ends_since = now.uptime;
    successor->progress_at = now.uptime;
    was_handed_on_ = true;
}

}  // namespace tributary
