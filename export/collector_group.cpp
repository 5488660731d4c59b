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

CollectorGroup::CollectorGroup(const ExportOptions& options, const RecordLayout& layout,
                               ExportCounters& counters, const CollectorEventHandler& handler)
    : mode_(options.mode),
      layout_(layout),
      record_bytes_(record_size(layout)),
      drain_timeout_(options.drain_timeout),
      book_(counters, mode_ == ExportMode::copy ? options.collectors.size() : 1),
      hasher_(kBalanceSeed) {
    for (std::size_t index = 0; index < options.collectors.size(); ++index) {
        members_.push_back({.session = std::make_unique<CollectorSession>(options, layout, counters,
                                                                          book_, index, handler)});
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
    return std::ranges::any_of(members_,
                               [](const Member& member) { return member.session->ready(); });
}

bool CollectorGroup::add(const std::byte* record, std::size_t queue, ExportTime now) {
    if (!ready()) {
        return false;
    }
    const RecordTally tally = tally_of(record, layout_);
    const RecordToSend sent{
        .bytes = record,
        .entry = {.queue = queue, .packets = tally.packets, .octets = tally.octets}};
    switch (mode_) {
        case ExportMode::balance:
            return add_to(share_of(record), sent, now);
        case ExportMode::failover:
            if (!session(active_).ready()) {
                choose_active(now);
            }
            return add_to(active_, sent, now);
        case ExportMode::copy:
            break;
    }
    return add_copies(sent, now);
}

bool CollectorGroup::add_copies(const RecordToSend& record, ExportTime now) {
    RecordToSend copy = record;
    copy.entry.number = book_.begin();
    for (std::size_t index = 0; index < members_.size(); ++index) {
        if (session(index).ready()) {
            session(index).add(copy, now);
        } else {
            book_.lost(index, copy.entry, ExportLoss::buffer_full);
        }
    }
    return true;
}

bool CollectorGroup::add_to(std::size_t index, const RecordToSend& record, ExportTime now) {
    RecordToSend taken = record;
    taken.entry.number = book_.begin();
    if (session(index).ready()) {
        session(index).add(taken, now);
    } else {
        book_.lost(index, taken.entry, ExportLoss::buffer_full);
    }
    return true;
}

std::size_t CollectorGroup::share_of(const std::byte* record) const noexcept {
    FlowKey key = reinterpret_cast<const FlowRecordCore*>(record)->key;
    key.ingress_interface = {};  // a tap's two directions come through two
    key = turned(key, std::tie(key.destination, key.destination_port) <
                          std::tie(key.source, key.source_port));
    return (hasher_(key) >> 32U) * members_.size() >> 32U;
}

/// Who has the records from now on: the first that can send and has room, else the first that has
/// room, else whoever has them now.
void CollectorGroup::choose_active(ExportTime now) {
    const auto first = [this](auto is_good) {
        const auto found = std::ranges::find_if(
            members_, [&](const Member& member) { return is_good(*member.session); });
        return static_cast<std::size_t>(found - members_.begin());
    };
    std::size_t best =
        first([](const CollectorSession& each) { return each.is_up() && each.ready(); });
    if (best == members_.size() && !session(active_).ready()) {
        best = first([](const CollectorSession& each) { return each.ready(); });
    }
    if (best != active_ && best != members_.size()) {
        take_over(std::exchange(active_, best), best, now);
    }
}

void CollectorGroup::take_over(std::size_t from, std::size_t to, ExportTime now) {
    session(to).tell_takes_over(now);
    if (session(from).is_up()) {
        return;  // it is slow, or another one is back: it keeps what it has
    }
    for (const OutgoingMessage& message : session(from).hand_back()) {
        for (std::size_t i = 0; i < message.entries.size(); ++i) {
            session(to).add(
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
