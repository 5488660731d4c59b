// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace tributary {
namespace {

RecorderRules rules_of(const RecorderOptions& options, const RecorderPlace& place) {
    return {.snap = options.snap,
            .snap_octets = options.snap_octets,
            .cutoff = options.cutoff,
            .all_frames = options.all_frames,
            .parse = place.parse};
}

RecorderQueueLedger account_of(const RecorderPlace& place, const RecorderQueue& queue) {
    const RecorderCounters& counters = queue.counters;
    RecorderQueueLedger ledger;
    ledger.name = place.name;
    const std::optional<PacketRing::BlockLook> oldest = queue.ring.oldest();
    ledger.overwritten = oldest ? oldest->first_number : 0;
    ledger.held = queue.ring.kept() - std::min(queue.ring.kept(), ledger.overwritten);
    if (oldest) {
        const Timestamp::duration reach = queue.ring.clock() - oldest->earliest;
        ledger.reach = static_cast<std::uint64_t>(
            std::max<std::int64_t>(std::chrono::floor<std::chrono::seconds>(reach).count(), 0));
    }
    ledger.kept_whole = counters.kept_whole.read();
    ledger.kept_cut = counters.kept_cut.read();
    ledger.kept_octets = counters.kept_octets.read();
    ledger.left_out = {{"filter_not_ready", counters.filter_not_ready.read()},
                       {"filtered", counters.filtered.read()},
                       {"input", counters.left_by_input.read()}};
    ledger.seen = counters.seen.read();  // last: never less than what became of them
    return ledger;
}

}  // namespace

std::size_t ring_octets(const RecorderOptions& options, std::size_t queues) noexcept {
    return PacketRing::rounded(options.memory / queues);
}

Recorder::Recorder(RecorderOptions options, FlowHasher hasher, std::vector<RecorderPlace> places)
    : options_(std::move(options)), hasher_(hasher), places_(std::move(places)) {
    queues_.resize(places_.size());
    for (const RecorderPlace& place : places_) {
        rules_.push_back(rules_of(options_, place));
    }
    const auto recorded =
        static_cast<std::size_t>(std::ranges::count(places_, true, &RecorderPlace::is_recorded));
    make_queues(ring_octets(options_, std::max<std::size_t>(recorded, 1)));
}

Recorder::~Recorder() = default;

/// In parallel, each in a thread of its own on its CPU.
void Recorder::make_queues(std::size_t octets) {
    std::vector<std::exception_ptr> failures(places_.size());
    std::vector<std::unique_ptr<PinnedThread>> makers;
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if (!places_[place].is_recorded) {
            continue;
        }
        makers.push_back(std::make_unique<PinnedThread>(
            ThreadPlace{.name = "recorder", .cpu = places_[place].cpu},
            [this, place, octets, &failure = failures[place]] {
                make_queue(place, octets, failure);
            }));
    }
    makers.clear();  // waits for all
    for (const std::exception_ptr& failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
}

/// @param failure  gets what is thrown
void Recorder::make_queue(std::size_t place, std::size_t octets,
                          std::exception_ptr& failure) noexcept {
    const RecorderPlace& of = places_[place];
    try {
        queues_[place] = std::make_unique<RecorderQueue>(octets, of.flow_entries, rules_[place],
                                                         of.numa_node, of.pages);
    } catch (...) {
        failure = std::current_exception();
    }
}

std::unique_ptr<BurstStage> Recorder::stage(std::size_t queue) {
    if (queues_[queue] == nullptr) {
        return nullptr;
    }
    return std::make_unique<RecorderStage>(*queues_[queue], rules_[queue], filter(), hasher_);
}

bool Recorder::huge_pages() const noexcept {
    return std::ranges::all_of(
        queues_, [](const auto& queue) { return queue == nullptr || queue->ring.huge_pages(); });
}

std::vector<DumpQueue> Recorder::rings() const {
    std::vector<DumpQueue> rings;
    for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
        if (queues_[queue] != nullptr) {
            rings.push_back({.ring = &queues_[queue]->ring,
                             .name = places_[queue].name,
                             .interface = places_[queue].interface,
                             .number = places_[queue].number});
        }
    }
    return rings;
}

void Recorder::read(RecorderLedger& ledger) const {
    for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
        if (queues_[queue] != nullptr) {
            ledger.queues.push_back(account_of(places_[queue], *queues_[queue]));
        }
    }
}

}  // namespace tributary
