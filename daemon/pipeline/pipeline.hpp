// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/machine/pinned_thread.hpp"
#include "daemon/pipeline/collector_accounts.hpp"
#include "daemon/pipeline/collector_figures.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/pipeline/mailbox.hpp"
#include "daemon/pipeline/queue_worker.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "daemon/pipeline/table_accounts.hpp"
#include "daemon/pipeline/thread_load.hpp"
#include "daemon/port/idle_wait.hpp"
#include "export/collector/export_worker.hpp"
#include "export/export_counters.hpp"
#include "export/options.hpp"
#include "flowcache/input/burst_stage.hpp"

namespace tributary {

/// Where the threads of a pipeline run.
struct PipelinePlaces {
    std::vector<ThreadPlace> inputs;  ///< one per queue
    ThreadPlace export_thread;
    std::vector<IdleWait> idle_waits{};  ///< of the input threads; empty: all poll on
};

/// Meters the packets that a stopping queue's source has already taken, as take_last_bursts() of
/// last_bursts.hpp does.
///
/// @thread  the queue's input thread
void take_last_bursts(QueueWorker& queue) noexcept;

/// The queues, the export worker and their threads, live and offline alike.
///
///     queue 0: input thread --ring--.
///     queue 1: input thread --ring---+--> export thread --> collector
///     queue N: input thread --ring--'
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): counters are aligned to cache lines
class Pipeline {
public:
    struct Parts {
        std::vector<std::unique_ptr<QueueWorker>> queues;
        ExportOptions export_options;
        MeteringProcess metering;
        std::function<Timestamp()> wall_clock;     ///< the export side's time; called by its thread
        CollectorEventHandler on_collector_event;  ///< called by the export thread
        /// Records of further tables: the input threads make them in stages, and `metering`
        /// describes the tables. A source for each queue, or fewer, whose RecordSource::table() is
        /// the table's place + 1. They outlive the pipeline, or the change that removes them.
        std::vector<RecordSource*> further_records{};
    };
    /// The further tables from a change on.
    struct FurtherTables {
        std::vector<FurtherTable> tables;    ///< as MeteringProcess::further
        std::vector<RecordSource*> records;  ///< as Parts::further_records
        ChangeReason reason = ChangeReason::reload;
    };

    /// @errors  ExportError
    explicit Pipeline(Parts parts);
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;
    ~Pipeline();

    /// Starts all threads.
    ///
    /// @param on_all_ended  called by the last input thread at its end: all sources have ended, or
    ///                      stop() was called
    /// @errors              StartupError
    /// @thread              main
    void start(const PipelinePlaces& places, std::function<void()> on_all_ended);

    /// Returns when each queue was polled once.
    /// @thread  main, after start()
    void wait_until_polled() const;

    /// Stops receiving, ends all flows, sends the remaining records and joins the threads. A
    /// collector that takes nothing delays it by its drain timeout. Does nothing the second time.
    /// @thread  any, but one at a time; read() may run beside it
    void stop() noexcept;

    /// Ends the wait of stop() for collectors: records that they do not take at once are lost, or
    /// stay in a spool.
    /// @thread  any, while stop() runs
    void end_now() noexcept { ends_now_.store(true, std::memory_order_relaxed); }
    /// How long stop() waits for a collector's sign of life.
    /// @thread  main
    [[nodiscard]] std::chrono::milliseconds drain_timeout() const noexcept {
        return parts_.export_options.drain_timeout;
    }

    /// Has a queue's input thread carry out a command between two bursts.
    ///
    /// @param command  as the thread leaves it; only a part of it may be done
    /// @return       false: the thread did not answer within kCommandPatience, or has not finished
    ///               the command before. A command that it has not begun by then is withdrawn.
    /// @thread       any but the input threads, between start() and stop(); callers wait for each
    ///               other
    /// @cost         a thread that polls answers within microseconds
    [[nodiscard]] bool send_command(std::size_t queue, InputCommand& command);
    /// Has a queue's input thread call other stages from some burst on. The former are destroyed
    /// here when it has confirmed that; packets that they kept may come back later. Flows that they
    /// held are let go. Where these stages are the first that need flows, the flows of the queue's
    /// cache can be held from then on.
    ///
    /// @return  false: the thread did not answer within kCommandPatience. All stages stay until the
    ///          next change that it confirms, or until the pipeline is gone; which are called is
    ///          not known
    /// @errors  StartupError(78): as check_stages(); MemoryShortage, std::bad_alloc. Nothing has
    ///          changed
    /// @thread  main, between start() and stop()
    [[nodiscard]] bool set_stages(std::size_t queue, StageList stages);
    /// A thread that does not answer for so long counts as hanging, as in StallDetector.
    static constexpr std::chrono::seconds kCommandPatience{2};
    /// For the end: from now on commands are refused, and send_command() returns for those that
    /// wait.
    /// @thread  any
    void close_mailboxes() noexcept {
        mailboxes_are_closed_.store(true, std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t queue_count() const noexcept { return parts_.queues.size(); }

    /// Tries the collectors that are away at once.
    /// @thread  any
    void try_collectors() noexcept { tries_are_requested_.store(true, std::memory_order_relaxed); }
    /// Changes the export; see ExportWorker::change(). Collectors of any time since the start keep
    /// their accounts, and so do tables.
    ///
    /// @param further  nullptr: the further tables stay as they are
    /// @return  collectors whose TLS files were read anew
    /// @errors  ExportError: nothing has changed; also where the export thread does not begin it
    ///          within kCommandPatience
    /// @thread  main, between start() and stop()
    std::vector<std::string> change_export(const ExportOptions& options,
                                           const FurtherTables* further = nullptr);
    /// Whether records of a table may still be on their way to collectors, as
    /// ExportWorker::holds() has it.
    ///
    /// @param table   its place + 1
    /// @return        true also where the export thread does not answer
    /// @thread        main, between start() and stop()
    [[nodiscard]] bool export_holds(std::size_t table);
    /// The options of the export since the last change.
    /// @thread  main
    [[nodiscard]] const ExportOptions& export_options() const noexcept {
        return parts_.export_options;
    }

    /// The load of all threads: one per queue, then the export thread.
    /// @thread  any, after start()
    [[nodiscard]] std::vector<const ThreadLoad*> threads() const;
    /// Each queue's ring: records in it, and room.
    /// @thread  any
    [[nodiscard]] std::vector<RingFill> rings() const;

    /// Of the present collectors.
    /// @thread  any
    [[nodiscard]] std::vector<CollectorFigures> collector_figures() const;

    /// Adds the counts of each queue's packets and records; `ledger.queues` has an entry per queue.
    /// Adds an entry for each further table that there is or was, with its name, and what the
    /// export made of its records. What its packets and caches count is for the caller to add,
    /// after that.
    /// @thread  any
    void read(Ledger& ledger) const;

    /// The final failure of all collectors (files that could not be written), in one line; empty:
    /// none.
    /// @thread  main, after stop()
    [[nodiscard]] std::string export_failure() const;
    /// true: no record can leave any more, because every collector or the export thread has failed
    /// for good.
    /// @thread  any
    [[nodiscard]] bool export_has_failed() const;
    /// Whether the export thread met a fault of its own. Its records are still sent, or lost by
    /// cause.
    /// @thread  any
    [[nodiscard]] bool export_is_faulty() const noexcept {
        return export_is_faulty_.load(std::memory_order_relaxed);
    }

private:
    /// A change of the export, for the export thread and back; or a question.
    struct ExportCommand {
        ExportOptions options{};
        std::vector<std::size_t> accounts{};
        std::optional<TableChange> tables{};
        std::optional<std::size_t> asks_for{};      ///< nothing but whether it holds this table
        bool holds{};                               ///< the answer
        std::vector<std::string> with_new_files{};  ///< see change_export()
        std::string error{};  ///< why the change was refused; empty: it was not
    };

    void start_inputs(const PipelinePlaces& places);
    void run_input(QueueWorker& queue, ThreadLoad& load, const IdleWait& idle_wait) noexcept;
    void run_export() noexcept;
    void carry_out_export_command() noexcept;
    [[nodiscard]] bool step_export() noexcept;
    void log_memory_shortage();
    [[nodiscard]] bool finish_export() noexcept;
    void note_export_fault() noexcept;
    [[nodiscard]] std::optional<ExportCommand> carry_out(const ExportCommand& command);
    [[nodiscard]] std::vector<CollectorAccounts::Account> accounts() const;
    void read_collectors(Ledger& ledger) const;
    void read_group_spool(Ledger& ledger) const;
    [[nodiscard]] ExportTime now() const;

    Mailbox<ExportCommand> export_mailbox_;  // first, because it is aligned to cache lines
    Parts parts_;
    mutable std::mutex accounts_mutex_;  ///< of accounts, which main changes and any reads
    CollectorAccounts accounts_;
    ExportCounters export_counters_;
    TableAccounts table_accounts_;  ///< likewise of accounts_mutex_
    ExportWorker export_worker_;
    std::function<void()> on_all_ended_;
    std::atomic<std::size_t> inputs_polled_{0};  ///< queues with their first poll done
    std::atomic<std::size_t> inputs_running_{
        0};  ///< threads that may still push records; released by run_input() to finish_export()
    std::atomic<bool> stop_inputs_{false};
    std::atomic<bool> drain_export_{false};
    std::atomic<bool> ends_now_{false};
    std::atomic<bool> export_is_faulty_{false};
    std::atomic<bool> mailboxes_are_closed_{false};
    std::atomic<bool> tries_are_requested_{false};
    int end_faults_ = 0;        ///< of finish_export()
    std::mutex mailbox_mutex_;  ///< for one sender at a time
    std::optional<std::chrono::steady_clock::time_point>
        shortage_logged_at_;         ///< by log_memory_shortage()
    std::vector<ThreadLoad> loads_;  ///< one per queue, the export thread's last
    std::vector<std::unique_ptr<PinnedThread>> input_threads_;
    std::unique_ptr<PinnedThread> export_thread_;
};

}  // namespace tributary
