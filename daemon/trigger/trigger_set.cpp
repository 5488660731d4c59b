// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_set.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "daemon/base/spdlog.hpp"

namespace tributary {

TriggerSet::Trigger::Trigger(const TriggerOptions& options, std::size_t index)
    : armed(options, index),
      files(trigger_directory(options.directory), options.name, options.max_octets) {}

TriggerSet::TriggerSet(const std::vector<TriggerOptions>& triggers, TimestampUnit timestamps,
                       WhenEventsFull when_full)
    : timestamps_(timestamps), when_full_(when_full) {
    std::uint32_t last = 0;
    for (const TriggerOptions& options : triggers) {
        directories_.add(trigger_directory(options.directory));
        triggers_.push_back(std::make_unique<Trigger>(options, triggers_.size()));
        last = std::max(last, triggers_.back()->files.last());
    }
    numbers_.begin_behind(last);
}

std::unique_ptr<FlowTriggers> TriggerSet::watch(WatchedTable table, const CachePlace& cache) {
    std::vector<ArmedTrigger*> of_table;
    for (const std::unique_ptr<Trigger>& trigger : triggers_) {
        if (trigger->armed.options.table == table.name) {
            of_table.push_back(&trigger->armed);
        }
    }
    auto events = std::make_shared<TriggerEvents>(
        std::make_shared<const WatchedTable>(std::move(table)), when_full_);
    auto watcher = std::make_unique<FlowTriggers>(events, of_table, numbers_, timestamps_, cache);
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(events));
    return watcher;
}

TriggerSet::Trigger* TriggerSet::find(const std::string& name) const noexcept {
    const auto found = std::ranges::find_if(
        triggers_, [&name](const auto& trigger) { return trigger->armed.options.name == name; });
    return found == triggers_.end() ? nullptr : found->get();
}

/// The events of all caches; nothing: without memory they wait.
std::vector<std::shared_ptr<TriggerEvents>> TriggerSet::look_at_events() {
    // One section: events that are added behind the copy would look like those of a cache that is
    // gone.
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<TriggerEvents>> all;
    try {
        all = events_;
    } catch (const std::bad_alloc&) {
        return {};
    }
    // Those of a cache that is gone are looked at for the last time.
    const auto is_here_alone = [](const auto& each) { return each.use_count() == 2; };
    std::erase_if(events_, is_here_alone);
    std::atomic_thread_fence(std::memory_order_acquire);  // what that cache has pushed
    return all;
}

void TriggerSet::count_file(Trigger& trigger, bool ended_early) noexcept {
    TriggerCounters& counters = trigger.armed.counters;
    add(counters.files);
    add(counters.ended_early, ended_early ? 1 : 0);
    take_one(counters.waiting);
}

void TriggerSet::count_failure(Trigger& trigger, int error, const std::string& path) {
    spdlog::error("trigger {}: {}: {}", trigger.armed.options.name, path,
                  std::generic_category().message(error));
    if (error == ENOSPC || error == EDQUOT) {
        suppress(trigger, &TriggerCounters::by_disk_full);
    } else if (error == ENOENT || error == ENOTDIR || error == EACCES || error == EROFS) {
        suppress(trigger, &TriggerCounters::by_directory);
    } else {
        suppress(trigger, &TriggerCounters::by_write_failure);
    }
}

void TriggerSet::suppress(Trigger& trigger,
                          TriggerCounters::Count TriggerCounters::*cause) noexcept {
    add(trigger.armed.counters.*cause);
    take_one(trigger.armed.counters.waiting);
}

void TriggerSet::read(RecorderLedger& ledger) const {
    for (const std::unique_ptr<Trigger>& trigger : triggers_) {
        const TriggerCounters& counters = trigger->armed.counters;
        ledger.triggers.push_back(
            {.name = trigger->armed.options.name,
             .fired = tributary::read(counters.fired),
             .suppressed = {{"busy", tributary::read(counters.by_busy)},
                            {"directory", tributary::read(counters.by_directory)},
                            {"disk_full", tributary::read(counters.by_disk_full)},
                            {"end", tributary::read(counters.by_end)},
                            {"rate", tributary::read(counters.by_rate)},
                            {"write_failed", tributary::read(counters.by_write_failure)}},
             .files = tributary::read(counters.files),
             .waiting = tributary::read(counters.waiting),
             .ended_early = tributary::read(counters.ended_early),
             .packets = tributary::read(counters.packets),
             .octets = tributary::read(counters.octets),
             .overwritten = tributary::read(counters.overwritten),
             .removed = tributary::read(counters.removed)});
    }
}

}  // namespace tributary
