// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/flow_triggers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "flowcache/fields/field_groups.hpp"

namespace tributary {
namespace {

/// The places of all, sorted; nothing: of one of them they are not known.
std::optional<std::vector<RecordPlace>> joined(std::optional<std::vector<RecordPlace>> places,
                                               std::optional<std::vector<RecordPlace>> more) {
    if (!places || !more) {
        return std::nullopt;
    }
    places->insert(places->end(), more->begin(), more->end());
    std::ranges::sort(*places);
    places->erase(std::ranges::unique(*places).begin(), places->end());
    return places;
}

}  // namespace

FlowTriggers::FlowTriggers(std::shared_ptr<TriggerEvents> events,
                           std::span<ArmedTrigger* const> triggers, FileNumbers& numbers,
                           TimestampUnit timestamps, const CachePlace& cache)
    : events_(std::move(events)),
      numbers_(numbers),
      viewer_(events_->table()->layout, events_->table()->elements, timestamps),
      all_(static_cast<std::uint16_t>((1U << triggers.size()) - 1)),
      places_(std::vector<RecordPlace>{}),
      memory_(trigger_memory(cache.entries), cache.numa_node, cache.pages),
      states_(reinterpret_cast<TriggerState*>(memory_.bytes().data()), cache.entries) {
    static_assert(kMostTriggers <= 16);
    const WatchedTable& table = *events_->table();
    const FlowFilter::Aliases aliases =
        table.is_main() ? FlowFilter::Aliases{} : aliases_of(*table.compiled);
    for (ArmedTrigger* const trigger : triggers) {
        FlowFilter when(trigger->options.when, aliases);
        viewer_.check(when);
        places_ = joined(std::move(places_), viewer_.changing_places(when.condition()));
        depends_on_end_ = depends_on_end_ || depends_on_end(when.condition());
        conditions_.push_back({.trigger = trigger, .when = std::move(when)});
    }
}

void FlowTriggers::attach(RunningFlows& flows) noexcept {
    flows_ = &flows;
    // Who attaches a watcher keeps a place for its holder.
    static_cast<void>(flows.add_holder(*this));
}

void FlowTriggers::on_packet(const KeyedPacket& packet) noexcept {
    const std::optional<FlowHandle> flow = flows_->flow_of(packet);
    if (!flow) {
        return;
    }
    TriggerState& state = states_[flow->entry];
    if (state.fired != all_) {
        constexpr bool kAtEnd = false;
        look(state, flows_->record_of(*flow), packet.packet->seen_at, kAtEnd);
    }
}

void FlowTriggers::record_ends(FlowHandle flow, FlowEndReason /*reason*/,
                               std::span<std::byte> record) noexcept {
    TriggerState& state = states_[flow.entry];
    if (state.fired != all_) {
        constexpr bool kAtEnd = true;
        look(state, record, latest_packet(record.data(), events_->table()->layout), kAtEnd);
    }
    if (state.file != 0) {
        mark(state.file, record);
    }
    state = {};  // the flow's next record is tested anew
}

/// Tests a record, if what matters of it has changed.
void FlowTriggers::look(TriggerState& state, std::span<const std::byte> record, Timestamp at,
                        bool is_at_end) noexcept {
    if (record.empty()) {
        return;  // the flow is between two records
    }
    if (places_) {
        const std::uint32_t digest = digest_of(record.data(), *places_);
        const bool is_known = state.is_tested && digest == state.digest;
        state.digest = digest;
        state.is_tested = true;
        if (is_known && !(is_at_end && depends_on_end_)) {
            return;
        }
    }
    const RecordViewer::View view = viewer_.view(record.data());
    for (std::size_t number = 0; number < conditions_.size(); ++number) {
        const bool has_fired = (state.fired >> number & 1U) != 0;
        if (!has_fired && conditions_[number].when.matches(view.flow, &view.record)) {
            state.fired |= static_cast<std::uint16_t>(1U << number);
            fire(conditions_[number], state, record, at, is_at_end);
        }
    }
}

void FlowTriggers::fire(const Condition& condition, TriggerState& state,
                        std::span<const std::byte> record, Timestamp at, bool is_at_end) noexcept {
    ArmedTrigger& trigger = *condition.trigger;
    add(trigger.counters.fired);
    const WatchedTable& table = *events_->table();
    const auto behind = is_at_end ? table.options.idle_timeout : std::chrono::seconds(0);
    if (!trigger.rate.allow(at, behind)) {
        add(trigger.counters.by_rate);
        return;
    }
    const TriggerEvent event{.trigger = trigger.index,
                             .file = numbers_.next(),
                             .is_at_end = is_at_end,
                             .at = at,
                             .flow = identity_of(record.data(), table.layout, table.options.key)};
    add(trigger.counters.waiting);
    if (!events_->push(event)) {
        take_one(trigger.counters.waiting);
        add(trigger.counters.by_busy);
    } else if (state.file == 0) {
        state.file = event.file;
    }
}

std::uint32_t FlowTriggers::digest_of(const std::byte* record,
                                      std::span<const RecordPlace> places) const noexcept {
    constexpr std::uint64_t kFactor = 0x9E37'79B9'7F4A'7C15;
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    constexpr unsigned kHalf = 32;
    std::uint64_t digest = viewer_.shape_of(record);  // a biflow may get the other direction's
    for (const RecordPlace& place : places) {
        for (std::size_t at = 0; at < place.octets; at += kWord) {
            std::uint64_t word = 0;
            std::memcpy(&word, record + place.at + at,
                        std::min<std::size_t>(kWord, place.octets - at));
            digest = (digest ^ word) * kFactor;
            digest ^= digest >> kHalf;
        }
    }
    return static_cast<std::uint32_t>(digest);
}

/// Writes the number of a file into a record, of a biflow for both directions.
void FlowTriggers::mark(std::uint32_t file, std::span<std::byte> record) const noexcept {
    const RecordLayout& layout = events_->table()->layout;
    for (const std::uint16_t at :
         {layout.at<PacketDumpGroup>(), layout.back_at<PacketDumpGroup>()}) {
        if (at != 0) {
            std::memcpy(&record[at + offsetof(PacketDumpGroup, file_number)], &file, sizeof file);
        }
    }
}

}  // namespace tributary
