// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/pipeline_end.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/base/spdlog.hpp"
#include "export/collector/collector_group.hpp"
#include "export/memory_reserve.hpp"
#include "export/threads/helper_thread.hpp"

namespace tributary {
namespace {

using std::chrono::steady_clock;

std::uint64_t count_of(const CollectorLedger& collector, const char* name) {
    const auto found = collector.counts.find(name);
    return found == collector.counts.end() ? 0 : found->second;
}

bool is_away(const CollectorLedger& collector) { return count_of(collector, "connected") == 0; }

std::string name_of(const CollectorLedger& collector) {
    return collector.name + (is_away(collector) ? " (not connected)" : "");
}

/// The collectors with waiting messages, separated by commas. If none has any but `records` wait:
/// the collectors that are away.
std::string awaited_collectors(const Ledger& ledger, std::uint64_t records) {
    std::vector<std::string> waiting;
    std::vector<std::string> away;
    for (const CollectorLedger& collector : ledger.collectors) {
        if (count_of(collector, "waiting_octets") > 0) {
            waiting.push_back(name_of(collector));
        } else if (is_away(collector) && !collector.is_removed) {
            away.push_back(name_of(collector));
        }
    }
    if (waiting.empty() && records > 0) {
        waiting = away.empty() ? std::vector<std::string>{"the collectors"} : std::move(away);
    }
    return fmt::format("{}", fmt::join(waiting, ", "));
}

/// The main thread's part of the end. It goes on without memory for a log line.
class EndWatch {
public:
    EndWatch(Pipeline& pipeline, SignalLoop& loop, const std::function<Ledger()>& ledger)
        : pipeline_(pipeline), loop_(loop), ledger_(ledger) {}

    /// Returns when the pipeline has stopped.
    void run(const std::atomic<bool>& stopped) {
        loop_.run({.is_over = [&stopped] { return stopped.load(std::memory_order_acquire); },
                   .pause = [this] { return is_logged_ ? kPause : kLogEndAfter; },
                   .act =
                       [this, &stopped](std::optional<int> signal) {
                           if (!stopped.load(std::memory_order_acquire)) {
                               look(signal);
                           }
                           return true;
                       },
                   .without_memory = "not enough memory to log what the end waits for"});
    }

private:
    static constexpr std::chrono::milliseconds kPause{1000};

    void look(std::optional<int> signal) {
        if (signal == SIGINT || signal == SIGTERM) {
            handle_signal(*signal);
        }
        if (!is_logged_ && steady_clock::now() - began_ >= kLogEndAfter) {
            is_logged_ = true;
            spdlog::warn("{}; SIGINT or SIGTERM once more ends the wait for collectors now",
                         wait_of_end(ledger_(), pipeline_.drain_timeout()));
        }
    }

    /// A signal before the log line repeats the first one: `timeout` sends it to the process and to
    /// its group.
    void handle_signal(int signal) {
        if (is_logged_ && !ends_now_) {
            ends_now_ = true;
            spdlog::warn("SIG{} again: no collector is waited for any more",
                         ::sigabbrev_np(signal));
            pipeline_.end_now();
        }
    }

    Pipeline& pipeline_;
    SignalLoop& loop_;
    const std::function<Ledger()>& ledger_;
    const steady_clock::time_point began_ = steady_clock::now();
    bool is_logged_ = false;
    bool ends_now_ = false;
};

}  // namespace

std::string wait_of_end(const Ledger& ledger, std::chrono::milliseconds drain_timeout) {
    std::uint64_t records = ledger.total().active().records;
    for (const TableLedger& table : ledger.tables) {
        records += table.active().records;
    }
    const std::string collectors = awaited_collectors(ledger, records);
    if (collectors.empty()) {
        return "the end waits until files are finished";
    }
    const double patience = std::chrono::duration<double>(drain_timeout).count();
    return fmt::format(
        "the end waits: {} are to leave for {}; a collector is given up after {:g} s without a "
        "sign of life, and after {:g} s in any case (export.drain-timeout)",
        records > 0 ? fmt::format("{} flow records", records)
                    : "records that other collectors have",
        collectors, patience, CollectorGroup::kSlowestDrain * patience);
}

void stop_beside(Pipeline& pipeline, Signals& signals,
                 const std::function<void(const std::atomic<bool>& stopped)>& watch) {
    std::atomic<bool> stopped{false};
    HelperThread stopping;
    try {
        stopping = HelperThread({.name = "stop"}, [&](ThreadPlaceInRegistry&) {
            MemoryReserve reserve;
            reserve.fill();
            pipeline.stop();
            stopped.store(true, std::memory_order_release);
            signals.wake();
        });
    } catch (const std::exception&) {  // no thread: signals wait until stop() returns
        pipeline.stop();
        return;
    }
    watch(stopped);
}

void end_pipeline(Pipeline& pipeline, Signals& signals, SignalLoop& loop,
                  const std::function<Ledger()>& ledger) {
    EndWatch end(pipeline, loop, ledger);
    stop_beside(pipeline, signals, [&end](const std::atomic<bool>& stopped) { end.run(stopped); });
}

}  // namespace tributary
