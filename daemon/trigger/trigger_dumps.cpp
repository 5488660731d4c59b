// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_dumps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <list>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/filter/filter_compilation.hpp"
#include "daemon/filter/packet_filter.hpp"
#include "daemon/machine/thread_priority.hpp"
#include "daemon/trigger/chosen_packets.hpp"
#include "daemon/trigger/flow_text.hpp"
#include "daemon/trigger/trigger_file.hpp"

namespace tributary {
namespace {

/// Between two looks for events. An input thread cannot wake a thread: that is a system call.
constexpr std::chrono::milliseconds kPause{20};

}  // namespace

void TriggerDumps::start() {
    thread_ =
        HelperThread({.name = "triggers"}, [this](ThreadPlaceInRegistry& place) { run(place); });
}

void TriggerDumps::end() noexcept {
    if (!thread_.joinable()) {
        return;
    }
    end_at_ = Clock::now() + kEndPatience;
    is_ending_.store(true, std::memory_order_release);  // pairs with run() and has_time()
    wake_.notify_all();
    thread_.join();
    thread_ = {};
}

void TriggerDumps::run(ThreadPlaceInRegistry& place) {
    for (;;) {
        place.begin_work();
        const bool is_ending = is_ending_.load(std::memory_order_acquire);  // before the last look
        set_.take_events([this](const TriggerEvent& event, const auto& table) {
            enqueue({.event = event, .table = table});
        });
        begin_jobs();
        if (is_ending && is_over()) {
            return;
        }
        place.begin_to_wait();
        std::unique_lock lock(mutex_);
        static_cast<void>(wake_.wait_for(lock, kPause));
    }
}

/// Has a job wait, which is counted as waiting already.
///
/// @return  false: too many wait, and it is counted as `busy`
bool TriggerDumps::enqueue(Job job) noexcept {
    Trigger& trigger = set_.at(job.event.trigger);
    try {
        const std::lock_guard lock(mutex_);
        if (waiting_.size() < kMostWaiting) {
            waiting_.push_back(std::move(job));
            return true;
        }
    } catch (const std::bad_alloc&) {
        spdlog::error("triggers: not enough memory for another file");
    }
    TriggerSet::suppress(trigger, &TriggerCounters::by_busy);
    return false;
}

/// Starts a thread for each file that waits, as many as may run.
void TriggerDumps::begin_jobs() {
    running_.remove_if([](const Running& each) {
        return each.has_ended.load(std::memory_order_acquire);  // pairs with its thread's end
    });
    while (running_.size() < kMostRunning && begin_next_job()) {
    }
}

/// @return  whether a file waited, and its thread has begun; without memory or a thread it waits on
bool TriggerDumps::begin_next_job() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
        return false;
    }
    std::list<Running> next;
    try {
        Running& running = next.emplace_back();
        running.job = waiting_.front();
        running.thread = HelperThread({.name = "trigger-file"}, [this, &running](auto&) {
            let_others_go_first();
            write(running.job);
            running.has_ended.store(true, std::memory_order_release);
        });
    } catch (const std::exception&) {
        return false;
    }
    running_.splice(running_.end(), next);
    waiting_.pop_front();
    return true;
}

/// At the end of the program: whether nothing is left to write, or no time for it.
bool TriggerDumps::is_over() {
    const std::lock_guard lock(mutex_);
    if (Clock::now() >= end_at_) {
        for (const Job& job : waiting_) {
            TriggerSet::suppress(set_.at(job.event.trigger), &TriggerCounters::by_end);
        }
        waiting_.clear();
    }
    const bool is_over = waiting_.empty() && std::ranges::all_of(running_, [](const Running& each) {
                             return each.has_ended.load(std::memory_order_acquire);
                         });
    if (is_over) {
        running_.clear();
    }
    return is_over;
}

/// Writes a file, and counts what became of it.
void TriggerDumps::write(const Job& job) noexcept {
    Trigger& trigger = set_.at(job.event.trigger);
    try {
        write_file(job, trigger);
    } catch (const std::exception& error) {
        spdlog::error("trigger {}: file {}: {}", trigger.armed.options.name, job.event.file,
                      error.what());
        TriggerSet::suppress(trigger, &TriggerCounters::by_write_failure);
    }
}

/// The request for a file, without its filter and its selector.
DumpRequest TriggerDumps::request_for(const Job& job, const TriggerOptions& options) {
    DumpRequest request;
    request.since = job.event.at - job.asked.last.value_or(options.before);
    request.filter_text = job.asked.filter;
    request.remarks = remarks_of(job.event, options, job.table.get());
    return request;
}

/// @errors  PacketFilterError, std::bad_alloc
void TriggerDumps::write_file(const Job& job, Trigger& trigger) {
    const TriggerOptions& options = trigger.armed.options;
    DumpRequest request = request_for(job, options);
    request.until = job.event.at + options.after;
    std::unique_ptr<PacketFilter> filter;
    if (!job.asked.filter.empty()) {
        filter = FilterCompilation::await(job.asked.filter, FilterLinks::ethernet,
                                          [this] { return has_time(); });
        if (!filter) {
            TriggerSet::suppress(trigger, &TriggerCounters::by_end);
            return;
        }
    }
    std::optional<ChosenPackets> chosen;
    if (job.table != nullptr && options.packets != TriggerPackets::all) {
        chosen.emplace(job.table, options.packets, job.event.flow, hasher_);
    }
    request.filter = filter.get();
    if (chosen) {
        request.selector = &*chosen;
        if (const std::optional<std::uint32_t> hash = chosen->flow_hash()) {
            request.flows.push_back(*hash);
        }
    }
    TriggerFile file(trigger, job.event.file);
    if (file.error() != 0) {
        file.finish(false, false);
        return;
    }
    if (!file.has_room()) {  // other files of the trigger that are being written have it all
        TriggerSet::suppress(trigger, &TriggerCounters::by_busy);
        return;
    }
    // The queues' clock, which is that of their packets' times, and goes on as the host's does.
    const Timestamp host_at_begin = clock_();
    const Timestamp now = latest_clock(rings_);
    bool is_full = false;
    PacketDump dump(
        rings_, std::move(request),
        {.write = [&file](std::span<const std::byte> octets) { return file.write(octets); },
         .clock = [&] { return now + (clock_() - host_at_begin); },
         .pause = [](auto time) { std::this_thread::sleep_for(time); },
         .goes_on =
             [&] {
                 is_full = !file.has_room();
                 return !is_full && has_time();
             },
         .have_queues_ended = [this] { return is_ending_.load(std::memory_order_acquire); }});
    const bool is_written = dump.run();
    for (const DumpAccount& account : dump.accounts()) {
        file.count({.packets = account.matched,
                    .octets = account.octets,
                    .overwritten = account.overwritten});
    }
    file.finish(is_written, is_full);
}

/// Whether the program does not end, or waits for files.
bool TriggerDumps::has_time() const {
    return !is_ending_.load(std::memory_order_acquire) || Clock::now() < end_at_;
}

std::string TriggerDumps::fire(const std::string& name, const AskedDump& asked) {
    Trigger* const trigger = set_.find(name);
    if (trigger == nullptr) {
        throw std::runtime_error("there is no trigger " + name);
    }
    if (is_ending_.load(std::memory_order_relaxed)) {
        throw std::runtime_error("the probe ends");
    }
    if (!asked.filter.empty()) {
        static_cast<void>(PacketFilter::check(asked.filter));
    }
    const TriggerEvent event{
        .trigger = trigger->armed.index, .file = set_.next_file(), .at = latest_clock(rings_)};
    Job job{.event = event, .asked = asked};
    add(trigger->armed.counters.fired);
    add(trigger->armed.counters.waiting);
    if (!enqueue(std::move(job))) {
        throw std::runtime_error(fmt::format("{} files wait already", kMostWaiting));
    }
    spdlog::info("trigger {}: file {} for {}{}", name, event.file, asked.who,
                 asked.filter.empty() ? "" : ", filter " + asked.filter);
    wake_.notify_all();
    return trigger->files.path_of(event.file);
}

}  // namespace tributary
