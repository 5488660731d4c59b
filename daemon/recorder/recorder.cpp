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

/// Packets that were overwritten, and the earliest time among those that were not.
struct RingLook {
    std::uint64_t overwritten{};
    std::optional<Timestamp> oldest{};
};

RingLook look_at(const PacketRing& ring) noexcept {
    const std::uint64_t written = PacketRing::block_of(ring.published());
    for (std::uint64_t block = ring.oldest_block(); block <= written; ++block) {
        const auto look = ring.look_at(block);
        if (look && look->earliest <= look->latest) {
            return {.overwritten = look->first_number, .oldest = look->earliest};
        }
    }
    return {};
}

RecorderQueueLedger account_of(const RecorderPlace& place, const RecorderQueue& queue) {
    const RecorderCounters& counters = queue.counters;
    RecorderQueueLedger ledger;
    ledger.name = place.name;
    const RingLook look = look_at(queue.ring);
    ledger.overwritten = look.overwritten;
    ledger.held = queue.ring.kept() - std::min(queue.ring.kept(), look.overwritten);
    if (look.oldest) {
        const Timestamp::duration reach = queue.ring.clock() - *look.oldest;
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

/// What `work` throws; nullptr: nothing.
template <class Work>
std::exception_ptr failure_of(const Work& work) noexcept {
    try {
        work();
        return nullptr;
    } catch (...) {
        return std::current_exception();
    }
}

}  // namespace

std::size_t ring_octets(const RecorderOptions& options, std::size_t queues) noexcept {
    return PacketRing::rounded(options.memory / queues);
}

bool records_input(const RecorderOptions& options, const std::string& input) {
    return options.memory != 0 &&
           (options.inputs.empty() ||
            std::ranges::find(options.inputs, input) != options.inputs.end());
}

Recorder::Recorder(RecorderOptions options, FlowHasher hasher, std::vector<RecorderPlace> places)
    : options_(std::move(options)), hasher_(hasher), places_(std::move(places)) {
    queues_.resize(places_.size());
    for (const RecorderPlace& place : places_) {
        rules_.push_back(rules_of(options_, place));
    }
    const auto recorded =
        static_cast<std::size_t>(std::ranges::count(places_, true, &RecorderPlace::is_recorded));
    const std::size_t octets = ring_octets(options_, std::max<std::size_t>(recorded, 1));
    std::vector<std::exception_ptr> failures(places_.size());
    std::vector<std::unique_ptr<PinnedThread>> makers;
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if (places_[place].is_recorded) {
            makers.push_back(std::make_unique<PinnedThread>(
                ThreadPlace{.name = "recorder", .cpu = places_[place].cpu},
                [this, place, octets, &failure = failures[place]] {
                    failure = failure_of([&] { make_queue(place, octets); });
                }));
        }
    }
    makers.clear();  // waits for all
    for (const std::exception_ptr& failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
}

Recorder::~Recorder() = default;

void Recorder::make_queue(std::size_t place, std::size_t octets) {
    const RecorderPlace& of = places_[place];
    queues_[place] = std::make_unique<RecorderQueue>(octets, of.flow_entries, rules_[place],
                                                     of.numa_node, of.pages);
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
