// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/clock_watch.hpp"
#include "daemon/control_server.hpp"
#include "daemon/dpdk_telemetry.hpp"
#include "daemon/input_watch.hpp"
#include "daemon/ledger.hpp"
#include "daemon/main_calls.hpp"
#include "daemon/metrics.hpp"
#include "daemon/pipeline.hpp"
#include "daemon/probe.hpp"
#include "daemon/service_manager.hpp"
#include "daemon/supervisor.hpp"
#include "daemon/telemetry_server.hpp"
#include "export/memory_reserve.hpp"

namespace tributary {

/// The parts of a running probe that its main thread looks after; all outlive the watch.
struct WatchedProbe {
    Pipeline& pipeline;
    ServiceManager& service;
    Signals& signals;
    MemoryReserve& reserve;  ///< of the main thread
    RecordLayout layout;     ///< of the records that the caches make
    FieldGroups stored;      ///< in that layout, as far as they are configured
    std::function<Ledger()> ledger;
    std::function<std::vector<InputFigures>()> inputs;
    InputWatch& input_watch;
    /// Gives an input another filter. @errors StartupError, ThreadHangs
    std::function<void(std::size_t input, const std::string& filter)> set_filter;
    std::function<ClockLedger()> clock;  ///< the worst of all queues
};

/// The main thread's life while a probe runs: signals, commands, statistics, links, threads that
/// hang, and other configurations.
///
/// A reload takes all that has changed, or leaves everything as it is; only a thread that hangs can
/// end it halfway, which is an error then.
/// @thread  main
class ProbeWatch {
public:
    /// @param options  outlive the watch
    ProbeWatch(const WatchedProbe& probe, const Config& config, const ProbeOptions& options);

    /// Returns when a signal, a final export failure or the loss of all inputs ends the probe.
    void run();

private:
    using Time = std::chrono::steady_clock::time_point;

    [[nodiscard]] bool look_around(Supervisor& supervisor);
    [[nodiscard]] bool try_to_look_around(Supervisor& supervisor);
    /// @return  false: the signal ends the probe
    bool obey(int signal);
    std::string reload();
    [[nodiscard]] std::string take_configuration(const Config& wanted);
    void take_filters(const Config& wanted);
    [[nodiscard]] ExportOptions exported_of_stored(ExportOptions wanted) const;
    [[nodiscard]] std::optional<DpdkTelemetry> serve_dpdk_telemetry() const;
    [[nodiscard]] std::unique_ptr<ControlServer> serve_control();
    [[nodiscard]] std::unique_ptr<TelemetryServer> serve_telemetry(const Supervisor& supervisor);
    [[nodiscard]] ProbeFigures figures() const;
    [[nodiscard]] ExportOptions export_options() const;

    WatchedProbe probe_;
    mutable std::mutex config_mutex_;  ///< for those who read it in other threads
    Config config_;                    ///< that the probe runs by; written by the main thread
    const ProbeOptions& options_;
    std::chrono::sys_seconds started_;
    Time next_statistics_;
    ClockWatch clock_watch_;
    MainCalls calls_;  ///< of the control socket's threads
};

}  // namespace tributary
