// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conf/config.hpp"
#include "conf/load_config.hpp"
#include "daemon/control/control_server.hpp"
#include "daemon/control/main_calls.hpp"
#include "daemon/filter_change.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/pipeline/live_flows.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/signal_loop.hpp"
#include "daemon/port/input_watch.hpp"
#include "daemon/probe.hpp"
#include "daemon/probe_filters.hpp"
#include "daemon/probe_tables.hpp"
#include "daemon/telemetry/clock_watch.hpp"
#include "daemon/telemetry/dpdk_telemetry.hpp"
#include "daemon/telemetry/metrics.hpp"
#include "daemon/telemetry/service_manager.hpp"
#include "daemon/telemetry/telemetry_server.hpp"
#include "daemon/telemetry/watchdog_reporter.hpp"

namespace tributary {

/// The parts of a running probe that its main loop uses; all outlive the loop.
struct WatchedProbe {
    Pipeline& pipeline;
    std::function<void()> log_ready;  ///< its queues are polled, and its servers take connections
    ServiceManager& service;
    Signals& signals;
    SignalLoop& loop;     ///< of these signals
    RecordLayout layout;  ///< of the records that the caches make
    FieldGroups stored;   ///< the configured groups in that layout
    std::function<Ledger()> ledger;
    std::function<std::vector<InputFigures>()> inputs;
    InputWatch& input_watch;
    ProbeFilters& filters;
    ProbeFilters::Give give_filter;
    std::function<ClockLedger()> clock;  ///< the worst of all queues
    std::function<std::vector<MemoryPart>()> memory;
    ProbeTables& tables;
};

/// The main thread's loop while a probe runs: signals, commands, statistics, links, hanging threads
/// and reloads.
///
/// A reload applies all changes or none. Only a hanging thread, or a lack of memory, can end it
/// halfway, which is an error that says what is taken and what is left. The present configuration
/// has what is taken, so that the next reload does the rest, or takes all back. A reload that
/// changes filters lasts until they are compiled; meanwhile the loop goes on, and further reloads
/// wait for their turn.
/// @thread  main
class MainLoop {
public:
    /// @param options  outlive the loop
    MainLoop(const WatchedProbe& probe, const Config& config, const ProbeOptions& options);

    /// Returns when a signal, a final export failure or the loss of all inputs ends the probe.
    void run();

private:
    using Time = std::chrono::steady_clock::time_point;

    [[nodiscard]] bool look_around(std::optional<int> signal, WatchdogReporter& watchdog);
    void look_after(WatchdogReporter& watchdog) const;
    /// @return  false: the signal ends the probe
    bool handle_signal(int signal);
    /// Gets the changes of a reload, or the reason why it failed; nullptr: only the log gets them.
    using ReloadAnswer = std::shared_ptr<std::promise<std::string>>;
    /// The reload in progress.
    struct Reload {
        Reload(const Config& running, LoadedConfig loaded,
               std::unique_ptr<TableSet::Change> of_tables)
            : wanted(std::move(loaded)),
              tables(std::move(of_tables)),
              filters(running, wanted,
                      tables != nullptr ? TableSet::filters(*tables) : std::vector<TableFilter>()) {
        }
        LoadedConfig wanted;
        std::unique_ptr<TableSet::Change> tables;  ///< nullptr: they stay, timeouts apart
        FilterChange filters;
        std::vector<std::string> with_new_files{};  ///< collectors whose TLS files were read anew
    };

    void ask_for_reload(ReloadAnswer answer);
    [[nodiscard]] std::string await_reload();
    [[nodiscard]] bool go_on_with_reload();
    void end_reload(const std::string& result, const std::exception_ptr& fault);
    void begin_reload();
    [[nodiscard]] std::string take_configuration(Reload& reload);
    void take_export(Reload& reload);
    void take_tables(Reload& reload);
    void take_filters(Reload& reload);
    void take_timeouts(Reload& reload);
    void take_log_level(Reload& reload);
    [[nodiscard]] std::chrono::milliseconds pause() const;
    [[nodiscard]] ExportOptions exported_of_stored(ExportOptions wanted) const;
    [[nodiscard]] std::optional<DpdkTelemetry> serve_dpdk_telemetry() const;
    [[nodiscard]] std::unique_ptr<ControlServer> serve_control();
    [[nodiscard]] std::unique_ptr<TelemetryServer> serve_telemetry(
        const WatchdogReporter& watchdog);
    [[nodiscard]] ProbeFigures figures() const;
    [[nodiscard]] ExportOptions export_options() const;
    void write_flows(const std::string& table, const std::function<bool(MessageView)>& write) const;

    WatchedProbe probe_;
    mutable std::mutex config_mutex_;  ///< for other threads that read `config_`
    Config config_;                    ///< what runs; written by the main thread
    const ProbeOptions& options_;
    std::chrono::sys_seconds started_;
    Time next_statistics_;
    ClockWatch clock_watch_;
    std::deque<ReloadAnswer> reloads_;  ///< requested; the first is in progress
    std::unique_ptr<Reload> reload_;    ///< nullptr: not begun
    MainCalls calls_;                   ///< of the control socket's threads
};

}  // namespace tributary
