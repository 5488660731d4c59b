// SPDX-License-Identifier: Apache-2.0
#include "export/collector_group.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "flowcache/flow_direction.hpp"

namespace tributary {
namespace {

/// The same in every run, so that a flow's records stay with their collector over a restart.
constexpr std::uint64_t kBalanceSeed = 0;

}  // namespace

CollectorGroup::CollectorGroup(const ExportOptions& options, const MeteringProcess& metering,
                               ExportCounters& counters, const CollectorEventHandler& handler)
    : mode_(options.mode),
      layout_(metering.layout),
      record_bytes_(record_size(metering.layout)),
      drain_timeout_(options.drain_timeout),
      book_(counters, mode_ == ExportMode::copy ? options.collectors.size() : 1),
      hasher_(kBalanceSeed) {
    for (std::size_t index = 0; index < options.collectors.size(); ++index) {
        members_.push_back({.session = std::make_unique<CollectorSession>(
                                options, metering, counters, book_, index, handler)});
    }
}

void CollectorGroup::advance(ExportTime now) {
    for (const Member& member : members_) {
        member.session->advance(now);
    }
    if (mode_ == ExportMode::failover) {
        choose_active(now);
    }
}

bool CollectorGroup::ready() const noexcept {
    bool all_dead = true;
    for (const Member& member : members_) {
        if (member.session->has_room()) {
            return true;
        }
        all_dead = all_dead && member.session->is_dead();
    }
    return all_dead;
}

bool CollectorGroup::add(const std::byte* record, std::size_t queue, ExportTime now) {
    if (!ready()) {
        return false;
    }
    const RecordTally tally = tally_of(record, layout_);
    const RecordToSend sent{.bytes = record,
                            .entry = {.number = book_.begin(),
                                      .queue = queue,
                                      .packets = tally.packets,
                                      .octets = tally.octets}};
    switch (mode_) {
        case ExportMode::balance:
            add_to(share_of(record), sent, now);
            break;
        case ExportMode::failover:
            if (!session(active_).has_room()) {
                choose_active(now);
            }
            add_to(active_, sent, now);
            break;
        case ExportMode::copy:
            for (std::size_t index = 0; index < members_.size(); ++index) {
                add_to(index, sent, now);
            }
    }
    return true;
}

void CollectorGroup::add_to(std::size_t index, const RecordToSend& record, ExportTime now) {
    if (session(index).has_room() || session(index).is_dead()) {
        session(index).add(record, now);
    } else {
        book_.lost(index, record.entry, ExportLoss::buffer_full);
    }
}

std::size_t CollectorGroup::share_of(const std::byte* record) const noexcept {
    FlowKey key = reinterpret_cast<const FlowRecordCore*>(record)->key;
    key.ingress_interface = {};  // a tap's two directions come through two
    key = turned(key, std::tie(key.destination, key.destination_port) <
                          std::tie(key.source, key.source_port));
    std::size_t share = (hasher_(key) >> 32U) * members_.size() >> 32U;
    for (std::size_t tries = 1; session(share).is_dead() && tries < members_.size(); ++tries) {
        share = share + 1 < members_.size() ? share + 1 : 0;
    }
    return share;
}

/// The index of the first collector that `is_good`; none: how many there are.
template <class IsGood>
std::size_t CollectorGroup::first(IsGood is_good) const {
    const auto found = std::ranges::find_if(
        members_, [&](const Member& member) { return is_good(*member.session); });
    return static_cast<std::size_t>(found - members_.begin());
}

/// Decides who has the records from now on, and gives it what waits for those who are away.
void CollectorGroup::choose_active(ExportTime now) {
    const std::size_t best = best_member(now);
    if (best != active_) {
        active_ = best;
        session(best).tell_takes_over(now);
    }
    for (std::size_t index = 0; index < members_.size(); ++index) {
        const bool is_stranded =
            index != active_ && !session(index).has_session() && session(index).is_waiting();
        if (is_stranded && session(active_).is_up()) {
            rescue(index, now);
        }
    }
    if (session(active_).is_dead()) {  // then they all are
        for (const Member& member : members_) {
            member.session->abandon(now);
        }
    }
}

/// The first that can send and has room; if there is none, whoever has the records now, as long as
/// it has room, and then the first that has.
std::size_t CollectorGroup::best_member(ExportTime now) {
    began_ = began_.value_or(now.uptime);
    const std::size_t up =
        first([](const CollectorSession& each) { return each.is_up() && each.has_room(); });
    if (up < members_.size() && (was_up_ || up == 0 || now.uptime - *began_ >= kStartUp)) {
        was_up_ = true;
        return up;
    }
    if (session(active_).has_room()) {
        return active_;
    }
    const std::size_t roomy = first([](const CollectorSession& each) { return each.has_room(); });
    if (roomy < members_.size()) {
        return roomy;
    }
    const std::size_t living = first([](const CollectorSession& each) { return !each.is_dead(); });
    return living < members_.size() && session(active_).is_dead() ? living : active_;
}

/// Gives the records that wait for a collector to the one that has them now.
void CollectorGroup::rescue(std::size_t from, ExportTime now) {
    for (const OutgoingMessage& message : session(from).hand_back(now)) {
        for (std::size_t i = 0; i < message.entries.size(); ++i) {
            session(active_).add(
                {.bytes = message.records.data() + i * record_bytes_, .entry = message.entries[i]},
                now);
        }
    }
}

bool CollectorGroup::finish(ExportTime now, bool drained) {
    if (!finish_began_) {
        finish_began_ = now.uptime;
        for (Member& member : members_) {
            member.progress_at = now.uptime;
        }
    }
    bool all_flushed = true;
    for (Member& member : members_) {
        if (!drained || !member.session->flush(now)) {
            abandon_if_stalled(member, now);
            all_flushed = all_flushed && drained && member.session->flush(now);
        }
    }
    return all_flushed;
}

void CollectorGroup::abandon_if_stalled(Member& member, ExportTime now) {
    const std::uint64_t progress = member.session->progress();
    if (std::exchange(member.progress, progress) != progress) {
        member.progress_at = now.uptime;
    }
    const bool is_stalled =
        member.session->is_waiting() && now.uptime - member.progress_at >= drain_timeout_;
    const bool is_too_slow =
        now.uptime - finish_began_.value_or(now.uptime) >= kSlowestDrain * drain_timeout_;
    if (is_stalled || is_too_slow) {
        member.session->abandon(now);
    }
}

void CollectorGroup::close() {
    for (const Member& member : members_) {
        member.session->close();
    }
}

std::uint64_t CollectorGroup::progress() const noexcept {
    std::uint64_t sum = 0;
    for (const Member& member : members_) {
        sum += member.session->progress();
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
