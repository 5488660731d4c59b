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
#include "daemon/pipeline/thread_load.hpp"
#include "daemon/port/idle_wait.hpp"
#include "export/collector/export_worker.hpp"
#include "export/export_counters.hpp"
#include "export/options.hpp"

namespace tributary {

/// Where the threads of a pipeline run.
struct PipelinePlaces {
    std::vector<ThreadPlace> inputs;  ///< one per queue
    ThreadPlace export_thread;
    std::vector<IdleWait> idle_waits{};  ///< of the input threads; none: all poll on
};

/// Meters what the source of a queue that stops has already taken: bursts until one is empty, each
/// to its end, and at most 1024 of them, which is more than the longest receive ring holds.
///
/// @thread  the queue's input thread
void take_last_bursts(QueueWorker& queue) noexcept;

/// The queues, the export worker and their threads: the same live and offline.
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
    };

    /// @errors  ExportError
    explicit Pipeline(Parts parts);
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;
    ~Pipeline();

    /// Starts all threads.
    ///
    /// @param on_all_ended  called by the last input thread whose source has ended by itself
    /// @errors              StartupError
    /// @thread              main
    void start(const PipelinePlaces& places, std::function<void()> on_all_ended);

    /// Returns when each queue was polled once.
    /// @thread  main, after start()
    void wait_until_polled() const;

    /// Stops receiving, ends all flows, sends what is left and joins the threads. A collector
    /// that takes nothing holds it up for its drain timeout. Does nothing the second time.
    /// @thread  any, but one at a time; read() may run beside it
    void stop() noexcept;

    /// Makes stop() wait for collectors no longer: what they do not take at once is lost, or stays
    /// in a spool.
    /// @thread  any, while stop() runs
    void end_now() noexcept { ends_now_.store(true, std::memory_order_relaxed); }
    /// How long stop() waits for a collector's sign of life.
    /// @thread  main
    [[nodiscard]] std::chrono::milliseconds drain_timeout() const noexcept {
        return parts_.export_options.drain_timeout;
    }

    /// Has a queue's input thread carry a command out between two bursts.
    ///
    /// @param command  as the thread leaves it; only a part of it may be done
    /// @return       false: the thread did not answer within kOrderPatience, or has not done what
    ///               was given it before. What it has not begun by then it will not do.
    /// @thread       any but the input threads, between start() and stop(); one waits for another
    /// @cost         a thread that polls answers within microseconds
    [[nodiscard]] bool send_command(std::size_t queue, InputCommand& command);
    /// A thread that does not answer for so long hangs, as for StallDetector.
    static constexpr std::chrono::seconds kOrderPatience{2};
    /// The end is near: from now on commands are refused, and those that wait come back.
    /// @thread  any
    void close_mailboxes() noexcept {
        mailboxes_are_closed_.store(true, std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t queue_count() const noexcept { return parts_.queues.size(); }

    /// Has collectors that are away tried at once.
    void try_collectors() noexcept { wants_tries_.store(true, std::memory_order_relaxed); }
    /// Exports otherwise from now on; see CollectorGroup::change(). Collectors that were there
    /// before, whenever that was, keep their accounts.
    ///
    /// @return  collectors whose TLS files were read anew
    /// @errors  ExportError: nothing has changed. Among the reasons is that the export thread
    ///          does not begin with it for kOrderPatience.
    /// @thread  main, between start() and stop()
    std::vector<std::string> change_export(const ExportOptions& options);

    /// What all threads do with their time: one per queue, and the export thread.
    /// @thread  any, after start()
    [[nodiscard]] std::vector<const ThreadLoad*> threads() const;
    /// Each queue's ring: records in it, and room.
    /// @thread  any
    [[nodiscard]] std::vector<RingFill> rings() const;

    /// Of the collectors of now.
    /// @thread  any
    [[nodiscard]] std::vector<CollectorFigures> collector_figures() const;

    /// Adds what became of each queue's packets and records; `ledger.queues` has an entry per
    /// queue.
    /// @thread  any
    void read(Ledger& ledger) const;

    /// The final failure of all collectors (files that could not be written), in one line; empty:
    /// none.
    /// @thread  main, after stop()
    [[nodiscard]] std::string export_failure() const;
    /// Whether no record can leave any more: every collector has failed for good, or the export
    /// thread has.
    /// @thread  any
    [[nodiscard]] bool export_has_failed() const;
    /// Whether the export thread met a fault of its own. What it holds is sent or lost by name all
    /// the same.
    /// @thread  any
    [[nodiscard]] bool export_is_faulty() const noexcept {
        return export_is_faulty_.load(std::memory_order_relaxed);
    }

private:
    void start_inputs(const PipelinePlaces& places);
    void run_input(QueueWorker& queue, ThreadLoad& load, const IdleWait& idle_wait) noexcept;
    void run_export() noexcept;
    void carry_out_export_command() noexcept;
    [[nodiscard]] bool step_export() noexcept;
    void tell_memory();
    [[nodiscard]] bool finish_export() noexcept;
    void note_export_fault() noexcept;
    [[nodiscard]] std::vector<CollectorAccounts::Account> accounts() const;
    void read_collectors(Ledger& ledger) const;
    void read_group_spool(Ledger& ledger) const;
    [[nodiscard]] ExportTime now() const;

    /// Another way to export, on its way to the export thread and back.
    struct ExportCommand {
        ExportOptions options;
        std::vector<std::size_t> accounts;
        std::vector<std::string> with_new_files;  ///< see change_export()
        std::string error;                        ///< why it was refused; empty: it was not
    };

    Mailbox<ExportCommand> export_mailbox_;  // first, because it is aligned to cache lines
    Parts parts_;
    mutable std::mutex accounts_mutex_;
    CollectorAccounts accounts_;
    ExportCounters export_counters_;
    ExportWorker export_worker_;
    std::function<void()> on_all_ended_;
    std::atomic<std::size_t> inputs_polled_{0};   ///< queues with their first poll done
    std::atomic<std::size_t> inputs_running_{0};  ///< threads that may still push records
    std::atomic<bool> stop_inputs_{false};
    std::atomic<bool> drain_export_{false};
    std::atomic<bool> ends_now_{false};
    std::atomic<bool> export_is_faulty_{false};
    std::atomic<bool> mailboxes_are_closed_{false};
    std::atomic<bool> wants_tries_{false};
    int end_faults_ = 0;        ///< of finish_export()
    std::mutex mailbox_mutex_;  ///< lets one give commands at a time
    std::optional<std::chrono::steady_clock::time_point> short_told_at_;  ///< by tell_memory()
    std::vector<ThreadLoad> loads_;  ///< one per queue, the export thread's last
    std::vector<std::unique_ptr<PinnedThread>> input_threads_;
    std::unique_ptr<PinnedThread> export_thread_;
};

}  // namespace tributary
