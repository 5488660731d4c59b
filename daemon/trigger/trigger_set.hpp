// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/trigger/armed_trigger.hpp"
#include "daemon/trigger/flow_triggers.hpp"
#include "daemon/trigger/trigger_events.hpp"
#include "daemon/trigger/trigger_files.hpp"
#include "daemon/trigger/watched_table.hpp"
#include "export/options.hpp"

namespace tributary {

/// The triggers of a process, with their files, their accounts, and the events of all caches.
///
/// @thread  main; functions that say so by any
class TriggerSet {
public:
    struct Trigger {
        Trigger(const TriggerOptions& options, std::size_t index);

        ArmedTrigger armed;
        TriggerFiles files;
    };

    /// @param timestamps  whose names conditions may have
    /// @param when_full   what input threads do with an event then
    /// @errors            as of LockedDirectories::add() and TriggerFiles()
    TriggerSet(const std::vector<TriggerOptions>& triggers, TimestampUnit timestamps,
               WhenEventsFull when_full);
    TriggerSet(const TriggerSet&) = delete;
    TriggerSet& operator=(const TriggerSet&) = delete;

    /// Makes what tests the flows of a cache, of a table that has triggers.
    ///
    /// @errors  FilterError; std::bad_alloc, also MemoryShortage
    [[nodiscard]] std::unique_ptr<FlowTriggers> watch(WatchedTable table, const CachePlace& cache);

    /// @param index  ArmedTrigger::index
    /// @thread       any
    [[nodiscard]] Trigger& at(std::size_t index) const { return *triggers_[index]; }
    /// @return  nullptr: there is none of this name
    /// @thread  any
    [[nodiscard]] Trigger* find(const std::string& name) const noexcept;
    /// @thread  any
    [[nodiscard]] std::uint32_t next_file() noexcept { return numbers_.next(); }

    /// Calls `use` with each event that came since the last call, and its table.
    ///
    /// @thread  one
    template <class Use>
    void take_events(Use use) {
        for (const std::shared_ptr<TriggerEvents>& events : look_at_events()) {
            for (TriggerEvent event; events->pop(event);) {
                use(event, events->table());
            }
        }
    }

    // What becomes of a time that a trigger fired, by any thread.

    /// A file is whole.
    ///
    /// @param ended_early  it would have been larger than it may be
    static void count_file(Trigger& trigger, bool ended_early) noexcept;
    /// A file could not be made or written; logs it.
    ///
    /// @param error  an errno
    static void count_failure(Trigger& trigger, int error, const std::string& path);
    /// Nothing comes of it.
    static void suppress(Trigger& trigger, TriggerCounters::Count TriggerCounters::*cause) noexcept;

    /// Adds the triggers' accounts.
    /// @thread  any
    void read(RecorderLedger& ledger) const;

private:
    [[nodiscard]] std::vector<std::shared_ptr<TriggerEvents>> look_at_events();

    LockedDirectories directories_;
    std::vector<std::unique_ptr<Trigger>> triggers_;
    TimestampUnit timestamps_;
    WhenEventsFull when_full_;
    FileNumbers numbers_;
    std::mutex mutex_;  ///< of `events_`
    std::vector<std::shared_ptr<TriggerEvents>> events_;
};

}  // namespace tributary
