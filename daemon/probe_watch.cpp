// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe_watch.hpp"

#include <spdlog/spdlog.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "conf/config_change.hpp"
#include "conf/config_error.hpp"
#include "daemon/control_socket.hpp"
#include "daemon/live_flows.hpp"
#include "daemon/log.hpp"
#include "daemon/probe_commands.hpp"

namespace tributary {
namespace {

using std::chrono::steady_clock;

/// Sends those away at the end who wait in threads of the control socket.
class Closing {
public:
    Closing(MainCalls& calls, Pipeline& pipeline) : calls_(calls), pipeline_(pipeline) {}
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;
    ~Closing() {
        calls_.close();
        pipeline_.close_orders();
    }

private:
    MainCalls& calls_;
    Pipeline& pipeline_;
};

}  // namespace

ProbeWatch::ProbeWatch(const WatchedProbe& probe, const Config& config, const ProbeOptions& options)
    : probe_(probe),
      config_(config),
      options_(options),
      started_(
          std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now())),
      calls_([&signals = probe.signals] { signals.wake(); }) {}

void ProbeWatch::run() {
    Supervisor supervisor(probe_.service, probe_.pipeline.threads(), probe_.ledger,
                          steady_clock::now().time_since_epoch());
    const std::unique_ptr<TelemetryServer> telemetry = serve_telemetry(supervisor);
    const std::optional<DpdkTelemetry> dpdk_telemetry = serve_dpdk_telemetry();
    const std::unique_ptr<ControlServer> control = serve_control();
    const Closing closing(calls_, probe_.pipeline);  // before `control` waits for its threads
    next_statistics_ = steady_clock::now() + options_.stats_interval;
    while (try_to_look_around(supervisor)) {
    }
}

/// Without memory for a second's work metering goes on. @return  false: the end has come
bool ProbeWatch::try_to_look_around(Supervisor& supervisor) {
    try {
        probe_.reserve.fill();
        return look_around(supervisor);
    } catch (const std::bad_alloc&) {
        spdlog::error("not enough memory to look after the probe; metering goes on");
        return true;
    }
}

/// Waits a second at the most, and does what is due. @return  false: the end has come
bool ProbeWatch::look_around(Supervisor& supervisor) {
    if (probe_.pipeline.export_has_failed() || probe_.input_watch.are_all_lost()) {
        return false;
    }
    const std::optional<int> signal = probe_.signals.wait_for(probe_.input_watch.pause());
    if (signal && !obey(*signal)) {
        return false;
    }
    calls_.run_all();
    if (options_.stats_interval.count() > 0 && steady_clock::now() >= next_statistics_) {
        next_statistics_ += options_.stats_interval;
        spdlog::info("statistics: {}", to_line(probe_.ledger()));
    }
    probe_.input_watch.look();
    if (const std::optional<std::string> change = clock_watch_.look(probe_.clock())) {
        spdlog::warn(*change);
    }
    supervisor.look(steady_clock::now().time_since_epoch(), probe_.input_watch.faults());
    return true;
}

bool ProbeWatch::obey(int signal) {
    switch (signal) {
        case SIGUSR1:
            spdlog::info("statistics: {}", to_line(probe_.ledger()));
            return true;
        case SIGHUP:
            try {
                reload();
            } catch (const std::exception&) {  // it is in the log, and the old one goes on
            }
            return true;
        default:
            spdlog::info("SIG{}: stopping", ::sigabbrev_np(signal));
            return false;
    }
}

/// Takes the configuration of now. @return  what has changed
std::string ProbeWatch::reload() {
    probe_.service.tell_reloading();
    reopen_log();
    std::string result;
    try {
        result = take_configuration(options_.load());
        spdlog::info(result);
    } catch (const std::exception& error) {
        spdlog::error("not reloaded: {}", error.what());
        probe_.service.tell_ready();
        throw;
    }
    probe_.service.tell_ready();
    return result;
}

std::string ProbeWatch::take_configuration(const Config& wanted) {
    const ConfigChange change = compare(config_, wanted);
    if (!change.needs_restart.empty()) {
        throw ConfigError(listed(change.needs_restart) +
                          " would change; that needs a restart, and nothing has changed");
    }
    // First what can be refused.
    if (wanted.export_ != config_.export_) {
        refuse_shared_files(options_.files, wanted.export_.collectors);
        probe_.pipeline.change_export(exported_of_stored(wanted.export_));
        const std::lock_guard lock(config_mutex_);
        config_.export_ = wanted.export_;
    }
    probe_.pipeline.try_collectors();
    take_filters(wanted);
    if (wanted.flows.idle_timeout != config_.flows.idle_timeout ||
        wanted.flows.active_timeout != config_.flows.active_timeout ||
        wanted.flows.tcp_end_timeout != config_.flows.tcp_end_timeout) {
        set_live_timeouts(probe_.pipeline, {.wanted = wanted.flows, .former = config_.flows});
    }
    set_log_level(options_.log_level.value_or(wanted.log.level));
    const std::lock_guard lock(config_mutex_);
    config_ = wanted;
    return change.reloadable.empty() ? "reloaded: nothing has changed"
                                     : "reloaded: " + listed(change.reloadable);
}

/// The groups that records have in the caches stay; of those that are not to be exported no element
/// is.
///
/// @errors  ConfigError: a group would have to be stored anew
ExportOptions ProbeWatch::exported_of_stored(ExportOptions wanted) const {
    wanted.fields = effective_groups(wanted.fields, config_.flows);
    for (const auto group : kFieldGroups) {
        const bool is_stored = probe_.stored.*group;
        if (wanted.fields.*group && !is_stored) {
            throw ConfigError(
                "export.fields has a group that was not stored since the start; that needs a "
                "restart, and nothing has changed");
        }
        if (is_stored && !(wanted.fields.*group)) {
            wanted.fields.*group = true;
            wanted.partial.groups.*group = true;
        }
    }
    return wanted;
}

void ProbeWatch::take_filters(const Config& wanted) {
    for (std::size_t input = 0; input < wanted.inputs.size(); ++input) {
        if (wanted.inputs[input].filter != config_.inputs[input].filter) {
            probe_.set_filter(input, wanted.inputs[input].filter);
            const std::lock_guard lock(config_mutex_);
            config_.inputs[input].filter = wanted.inputs[input].filter;
        }
    }
}

/// @return  nothing where there is to be none, or where its socket cannot be had: metering is worth
/// more
std::unique_ptr<ControlServer> ProbeWatch::serve_control() {
    const std::string& configured = config_.control.socket;
    if (configured.empty()) {
        return nullptr;
    }
    const std::string path = configured == "auto" ? default_control_socket() : configured;
    const ProbeAnswers answers{
        .ledger = probe_.ledger,
        .figures = [this] { return figures(); },
        .flows =
            [this](const std::function<bool(MessageView)>& write) {
                write_live_flows(probe_.pipeline, export_options(), probe_.layout, write);
            },
        .flush = [this] { end_live_flows(probe_.pipeline); },
        .reload = [this] { return calls_.make([this] { return reload(); }); }};
    try {
        auto server = std::make_unique<ControlServer>(path, probe_commands(answers));
        spdlog::info("control: {}", path);
        return server;
    } catch (const std::exception& error) {
        spdlog::error("no control socket: {}", error.what());
        return nullptr;
    }
}

/// @return  nothing where there is to be none, or where its address cannot be had: metering is
/// worth more
std::unique_ptr<TelemetryServer> ProbeWatch::serve_telemetry(const Supervisor& supervisor) {
    const std::string& address = config_.telemetry.listen;
    if (address.empty()) {
        return nullptr;
    }
    try {
        auto server = std::make_unique<TelemetryServer>(
            address, TelemetryServer::Pages{
                         .metrics = [this] { return to_prometheus(probe_.ledger(), figures()); },
                         .faults = [&supervisor] { return supervisor.faults(); }});
        spdlog::info("telemetry: http://{}/metrics", address);
        return server;
    } catch (const std::exception& error) {
        spdlog::error("no telemetry: {}", error.what());
        return nullptr;
    }
}

/// @return  nothing where there is to be none
std::optional<DpdkTelemetry> ProbeWatch::serve_dpdk_telemetry() const {
    if (!config_.telemetry.dpdk) {
        return std::nullopt;
    }
    return std::optional<DpdkTelemetry>(
        std::in_place, DpdkTelemetryAnswers{.ledger = [this] { return to_json(probe_.ledger()); },
                                            .figures = [this] { return to_json(figures()); }});
}

/// @thread  any
ProbeFigures ProbeWatch::figures() const {
    const std::lock_guard lock(config_mutex_);
    return {.rings = probe_.pipeline.rings(),
            .threads = probe_.pipeline.threads(),
            .collectors = probe_.pipeline.collector_figures(),
            .inputs = probe_.inputs(),
            .heap = read_heap_use(),
            .max_flows = config_.flows.max_flows,
            .started = started_,
            .version = TRIBUTARY_VERSION};
}

/// @thread  any
ExportOptions ProbeWatch::export_options() const {
    const std::lock_guard lock(config_mutex_);
    return exported_of_stored(config_.export_);
}

}  // namespace tributary
