// SPDX-License-Identifier: Apache-2.0
#include "daemon/main_loop.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <exception>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "conf/config_change.hpp"
#include "conf/config_error.hpp"
#include "daemon/base/spdlog.hpp"
#include "daemon/control/control_socket.hpp"
#include "daemon/control/probe_commands.hpp"
#include "daemon/log/log.hpp"
#include "daemon/machine/host_time.hpp"
#include "daemon/pipeline/live_flows.hpp"

namespace tributary {
namespace {

using std::chrono::steady_clock;

/// The faults of a configuration in one line.
std::string in_one_line(std::string lines) {
    for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n')) {
        lines.replace(end, 1, "; ");
    }
    return lines;
}

Timeouts timeouts_of(const TableDeclaration& table) {
    FlowCacheOptions options;
    options.idle_timeout = table.idle_timeout;
    options.active_timeout = table.active_timeout;
    return options;
}

/// The tables as they are once the export and the TableSet have a change: those that stay have
/// their former timeouts, until take_timeouts().
std::vector<TableDeclaration> with_former_timeouts(std::vector<TableDeclaration> wanted,
                                                   const std::vector<TableDeclaration>& former,
                                                   const std::vector<std::string>& added) {
    for (TableDeclaration& table : wanted) {
        const auto before = std::ranges::find(former, table.name, &TableDeclaration::name);
        const bool stays = std::ranges::find(added, table.name) == added.end();
        if (stays && before != former.end()) {
            table.idle_timeout = before->idle_timeout;
            table.active_timeout = before->active_timeout;
        }
    }
    return wanted;
}

/// What a reload that has failed halfway has taken, and what not; empty: it has taken nothing.
///
/// @param wanted  the ways by which the new configuration was to be applied
/// @param left    those by which it still differs from the present one
std::string taken_and_left(const std::set<Apply>& wanted, const std::set<Apply>& left) {
    constexpr std::array kWords{
        std::pair{Apply::to_export, "export"}, std::pair{Apply::to_tables, "tables"},
        std::pair{Apply::to_filters, "filters"}, std::pair{Apply::to_timeouts, "timeouts"},
        std::pair{Apply::to_log_level, "log.level"}};
    static_assert(kWords.size() == kReloadWays);
    std::vector<std::string> are_taken;
    std::vector<std::string> are_left;
    for (const auto& [apply, word] : kWords) {
        if (left.contains(apply)) {
            are_left.emplace_back(word);
        } else if (wanted.contains(apply)) {
            are_taken.emplace_back(word);
        }
    }
    if (are_taken.empty()) {
        return {};
    }
    return "; taken: " + listed(are_taken) +
           (are_left.empty() ? "" : "; not taken: " + listed(are_left) + ", for the next reload");
}

/// Ends the waits of the control socket's threads at the end, and before that what reloads have
/// begun, which needs the mailboxes.
class Closing {
public:
    Closing(MainCalls& calls, Pipeline& pipeline, std::function<void()> end_reloads)
        : calls_(calls), pipeline_(pipeline), end_reloads_(std::move(end_reloads)) {}
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;
    ~Closing() {
        calls_.close();
        end_reloads_();
        pipeline_.close_mailboxes();
    }

private:
    MainCalls& calls_;
    Pipeline& pipeline_;
    std::function<void()> end_reloads_;
};

}  // namespace

MainLoop::MainLoop(const WatchedProbe& probe, const Config& config, const ProbeOptions& options)
    : probe_(probe),
      config_(config),
      options_(options),
      started_(
          std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now())),
      calls_([&signals = probe.signals] { signals.wake(); }) {}

void MainLoop::run() {
    WatchdogReporter watchdog(probe_.service, probe_.pipeline.threads(), probe_.ledger,
                              steady_clock::now().time_since_epoch());
    look_after(watchdog);  // before telemetry and control read its faults
    const std::unique_ptr<TelemetryServer> telemetry = serve_telemetry(watchdog);
    const std::optional<DpdkTelemetry> dpdk_telemetry = serve_dpdk_telemetry();
    const std::unique_ptr<ControlServer> control = serve_control();
    probe_.log_ready();
    watchdog.announce();
    // Destroyed before `control`, which waits for its threads: a broken promise ends their waits.
    const Closing closing(calls_, probe_.pipeline, [this] {
        reloads_.clear();
        probe_.tables.end_changes();
    });
    next_statistics_ = steady_clock::now() + options_.stats_interval;
    probe_.loop.run(
        {.is_over =
             [this] {
                 return probe_.pipeline.export_has_failed() || probe_.input_watch.are_all_lost();
             },
         .pause = [this] { return pause(); },
         .act = [&](std::optional<int> signal) { return look_around(signal, watchdog); },
         .without_memory = "not enough memory to look after the probe; metering goes on"});
}

/// Does the work that is due, each second at least. @return  false: the signal ends the probe
bool MainLoop::look_around(std::optional<int> signal, WatchdogReporter& watchdog) {
    if (signal && !handle_signal(*signal)) {
        return false;
    }
    calls_.run_all();
    while (!reloads_.empty() && go_on_with_reload()) {
    }
    probe_.filters.look(probe_.give_filter);
    probe_.tables.look();
    if (options_.stats_interval.count() > 0 && steady_clock::now() >= next_statistics_) {
        next_statistics_ += options_.stats_interval;
        spdlog::info("statistics: {}", to_line(probe_.ledger()));
    }
    probe_.input_watch.look();
    if (const std::optional<std::string> change = clock_watch_.look(probe_.clock())) {
        spdlog::warn(*change);
    }
    look_after(watchdog);
    log_left_out_lines();
    return true;
}

void MainLoop::look_after(WatchdogReporter& watchdog) const {
    watchdog.look(steady_clock::now().time_since_epoch(),
                  probe_.input_watch.faults() + probe_.filters.faults());
}

/// How long the main thread may wait for signals and calls.
std::chrono::milliseconds MainLoop::pause() const {
    constexpr std::chrono::milliseconds kWhileCompiled{20};
    std::chrono::milliseconds longest = probe_.input_watch.pause();
    if (probe_.tables.is_ending()) {
        longest = std::min(longest, probe_.tables.pause());
    }
    const bool comes_soon = reload_ != nullptr || probe_.filters.is_compiling();
    return comes_soon ? std::min(longest, kWhileCompiled) : longest;
}

bool MainLoop::handle_signal(int signal) {
    if (signal == SIGHUP) {
        ask_for_reload(nullptr);
        return true;
    }
    SignalLoop::log_stopping(signal);
    return false;
}

void MainLoop::ask_for_reload(ReloadAnswer answer) {
    // A waiting reload by signal serves further signals: it has not read the configuration yet.
    if (answer == nullptr && reloads_.size() > 1 && reloads_.back() == nullptr) {
        return;
    }
    reloads_.push_back(std::move(answer));
}

/// @thread  of the control socket
std::string MainLoop::await_reload() {
    auto answer = std::make_shared<std::promise<std::string>>();
    std::future<std::string> result = answer->get_future();
    calls_.make([this, &answer] {
        ask_for_reload(std::move(answer));  // at the end it is dropped, which breaks the promise
        return std::string();
    });
    try {
        return result.get();
    } catch (const std::future_error&) {
        throw std::runtime_error("tributaryd is stopping");
    }
}

/// Does as much of the reload as goes without waiting.
///
/// @return  true: this reload has ended
bool MainLoop::go_on_with_reload() {
    std::string result;
    std::exception_ptr fault;
    try {
        if (reload_ == nullptr) {
            begin_reload();
        }
        if (!reload_->filters.is_ready()) {
            return false;
        }
        result = take_configuration(*reload_);
    } catch (const std::exception& error) {
        result = in_one_line(error.what());
        fault = std::make_exception_ptr(std::runtime_error(result));
    }
    end_reload(result, fault);
    return true;
}

/// Reads the configuration, makes its new tables, and begins to compile its changed filters.
void MainLoop::begin_reload() {
    probe_.service.notify_reloading();
    reopen_log();
    LoadedConfig wanted = options_.load();
    const ConfigChange change = compare(config_, wanted.config);
    if (!change.needs_restart.empty()) {
        throw ConfigError(listed(change.needs_restart) +
                          " would change; that needs a restart, and nothing has changed");
    }
    std::unique_ptr<TableSet::Change> tables =
        change.ways.contains(Apply::to_tables) ? probe_.tables.prepare(wanted.config) : nullptr;
    reload_ = std::make_unique<Reload>(config_, std::move(wanted), std::move(tables));
}

/// @param result  the changes, or the fault
/// @param fault   the same fault for the caller; nullptr: none
void MainLoop::end_reload(const std::string& result, const std::exception_ptr& fault) {
    std::string text = result;  // the log has the warnings already
    if (!fault) {
        for (const std::string& warning : reload_->wanted.warnings) {
            text += "\nwarning: " + warning;
        }
    }
    reload_.reset();
    const ReloadAnswer answer = std::move(reloads_.front());
    reloads_.pop_front();
    if (fault) {
        spdlog::error("not reloaded: {}", result);
    } else {
        spdlog::info(result);
    }
    probe_.service.notify_ready();
    if (answer != nullptr && fault) {
        answer->set_exception(fault);
    } else if (answer != nullptr) {
        answer->set_value(text);
    }
}

std::string MainLoop::take_configuration(Reload& reload) {
    struct Way {
        Apply apply;
        void (MainLoop::*take)(Reload&);
        bool is_always;  ///< even if no key of this kind has changed
    };
    constexpr std::array kWays{// The export first, because it may refuse the change.
                               Way{Apply::to_export, &MainLoop::take_export, true},
                               Way{Apply::to_tables, &MainLoop::take_tables, false},
                               Way{Apply::to_filters, &MainLoop::take_filters, true},
                               Way{Apply::to_timeouts, &MainLoop::take_timeouts, false},
                               Way{Apply::to_log_level, &MainLoop::take_log_level, true}};
    static_assert(kWays.size() == kReloadWays);
    Config& wanted = reload.wanted.config;
    const ConfigChange change = compare(config_, wanted);
    std::set<Apply> ways = change.ways;
    if (ways.contains(Apply::to_tables)) {
        // A table may stay at another place of the list, where the timeouts are those that the
        // place had before, not the table.
        ways.insert(Apply::to_timeouts);
    }
    try {
        for (const Way& way : kWays) {
            if (way.is_always || ways.contains(way.apply)) {
                (this->*way.take)(reload);
            }
        }
    } catch (const std::exception& error) {
        const std::string taken = taken_and_left(change.ways, compare(config_, wanted).ways);
        throw std::runtime_error(error.what() + taken);
    }
    {
        const std::lock_guard lock(config_mutex_);
        std::swap(config_, wanted);
    }
    std::vector<std::string> taken = change.reloadable;
    if (!reload.with_new_files.empty()) {
        taken.push_back("the TLS files of " + listed(reload.with_new_files) +
                        " (new connections use them)");
    }
    return taken.empty() ? "reloaded: nothing has changed" : "reloaded: " + listed(taken);
}

/// Needed even if only the contents of TLS files have changed. Collectors without connection are
/// tried in any case. Other tables go with it: collectors may name them.
void MainLoop::take_export(Reload& reload) {
    const ExportOptions& wanted = reload.wanted.config.export_;
    const bool has_tls =
        std::ranges::any_of(wanted.collectors, [](const CollectorOptions& collector) {
            return collector.transport == TransportKind::tls;
        });
    if (has_tls || wanted != config_.export_ || reload.tables != nullptr) {
        refuse_shared_files(options_.files, wanted);
        // What may find no memory comes before the change.
        ExportOptions taken = wanted;
        std::vector<TableDeclaration> tables = config_.tables;
        std::vector<OwnField> fields = config_.fields;
        if (reload.tables != nullptr) {
            tables = with_former_timeouts(reload.wanted.config.tables, config_.tables,
                                          TableSet::names(*reload.tables).added);
            fields = reload.wanted.config.fields;
        }
        const ExportOptions exported = exported_of_stored(wanted);
        reload.with_new_files =
            reload.tables == nullptr
                ? probe_.pipeline.change_export(exported)
                : probe_.tables.take_over(*reload.tables, reload.filters.take_of_tables(),
                                          exported);
        {
            const std::lock_guard lock(config_mutex_);
            std::swap(config_.export_, taken);
            std::swap(config_.tables, tables);
            std::swap(config_.fields, fields);
        }
        for (const std::string& name : reload.with_new_files) {
            spdlog::info("{}: its TLS files were read anew; new connections use them", name);
        }
    }
    probe_.pipeline.try_collectors();
}

void MainLoop::take_tables(Reload& reload) {
    if (reload.tables != nullptr) {
        probe_.tables.begin(*reload.tables);
    }
}

/// Failed filters are tried again in any case.
void MainLoop::take_filters(Reload& reload) {
    const std::vector<InputOptions>& wanted = reload.wanted.config.inputs;
    reload.filters.apply(probe_.filters,
                         [this, &wanted](std::size_t input, const LiveFilter& filter) {
                             probe_.give_filter(input, filter);
                             const std::lock_guard lock(config_mutex_);
                             config_.inputs[input].filter = wanted[input].filter;
                         });
    probe_.filters.try_now();
}

/// The configuration gets each timeout that all threads have: where one hangs, the next reload sees
/// which are left.
void MainLoop::take_timeouts(Reload& reload) {
    const Config& wanted = reload.wanted.config;
    set_live_timeouts(probe_.pipeline, {.wanted = wanted.flows, .former = config_.flows});
    {
        const std::lock_guard lock(config_mutex_);
        config_.flows = wanted.flows;  // all but the timeouts is the same: that needs a restart
    }
    for (const LiveTable& table : probe_.tables.live()) {
        const std::string& name = table.table.name;
        const auto next = std::ranges::find(wanted.tables, name, &TableDeclaration::name);
        const auto present = std::ranges::find(config_.tables, name, &TableDeclaration::name);
        if (next == wanted.tables.end() || present == config_.tables.end()) {
            continue;
        }
        set_live_timeouts(probe_.pipeline,
                          {.wanted = timeouts_of(*next), .former = timeouts_of(*present)},
                          table.queues);
        const std::lock_guard lock(config_mutex_);
        present->idle_timeout = next->idle_timeout;
        present->active_timeout = next->active_timeout;
    }
}

void MainLoop::take_log_level(Reload& reload) {
    set_log_level(options_.log_level.value_or(reload.wanted.config.log.level));
}

/// The records in the caches keep their groups; of groups that are not exported, no element is
/// encoded.
///
/// @errors  ConfigError: a wanted group is not stored in the records
ExportOptions MainLoop::exported_of_stored(ExportOptions wanted) const {
    wanted.fields = effective_groups(wanted.fields, config_.flows);
    if (!(wanted.fields - probe_.stored).empty()) {
        throw ConfigError(
            "export.fields has a group that was not stored since the start; that needs a restart, "
            "and nothing has changed");
    }
    (probe_.stored - wanted.fields).for_each([&wanted](FieldGroupId id) {
        wanted.fields.set(id);
        wanted.partial.remove(id);
        wanted.partial.groups.set(id);  // and none of its elements
    });
    return wanted;
}

/// @return  nullptr if none is configured, or if its socket cannot be opened: the probe runs
/// without it
std::unique_ptr<ControlServer> MainLoop::serve_control() {
    const std::string& configured = config_.control.socket;
    if (configured.empty()) {
        return nullptr;
    }
    const std::string path = configured == "auto" ? default_control_socket() : configured;
    const ProbeAnswers answers{
        .ledger = probe_.ledger,
        .figures = [this] { return figures(); },
        .flows = [this](
                     const std::string& table,
                     const std::function<bool(MessageView)>& write) { write_flows(table, write); },
        .flush = [this] { end_live_flows(probe_.pipeline, probe_.tables.live()); },
        .reload = [this] { return await_reload(); }};
    try {
        auto server =
            std::make_unique<ControlServer>(ControlPlace{.path = path}, probe_commands(answers));
        spdlog::info("control: {}", path);
        return server;
    } catch (const std::exception& error) {
        spdlog::error("no control socket: {}", error.what());
        return nullptr;
    }
}

/// @return  nullptr if none is configured, or if its address cannot be opened: the probe runs
/// without it
std::unique_ptr<TelemetryServer> MainLoop::serve_telemetry(const WatchdogReporter& watchdog) {
    const std::string& address = config_.telemetry.listen;
    if (address.empty()) {
        return nullptr;
    }
    try {
        auto server = std::make_unique<TelemetryServer>(
            address, TelemetryServer::Pages{
                         .metrics = [this] { return to_prometheus(probe_.ledger(), figures()); },
                         .faults = [&watchdog] { return watchdog.faults(); }});
        spdlog::info("telemetry: http://{}/metrics", address);
        return server;
    } catch (const std::exception& error) {
        spdlog::error("no telemetry: {}", error.what());
        return nullptr;
    }
}

/// @return  nullopt if none is configured
std::optional<DpdkTelemetry> MainLoop::serve_dpdk_telemetry() const {
    if (!config_.telemetry.dpdk) {
        return std::nullopt;
    }
    return std::optional<DpdkTelemetry>(
        std::in_place, DpdkTelemetryAnswers{.ledger = [this] { return to_json(probe_.ledger()); },
                                            .figures = [this] { return to_json(figures()); }});
}

/// @thread  any
ProbeFigures MainLoop::figures() const {
    const std::lock_guard lock(config_mutex_);
    return {
        .rings = probe_.pipeline.rings(),
        .threads = probe_.pipeline.threads(),
        .collectors = probe_.pipeline.collector_figures(),
        .inputs = probe_.inputs(),
        .heap = read_heap_use(),
        .helpers = read_helpers(),
        .memory = probe_.memory(),
        .max_flows = config_.flows.max_flows,
        .started = started_,
        .version = TRIBUTARY_VERSION,
        .now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()),
        .host_uptime = host_uptime()};
}

/// @param table  empty: the main one
/// @errors       also std::runtime_error: there is no such table
/// @thread       any
void MainLoop::write_flows(const std::string& table,
                           const std::function<bool(MessageView)>& write) const {
    if (table.empty() || table == kMainTable) {
        write_live_flows(probe_.pipeline, export_options(), probe_.layout, write);
        return;
    }
    const std::vector<LiveTable> tables = probe_.tables.live();
    const auto found =
        std::ranges::find(tables, table, [](const LiveTable& each) { return each.table.name; });
    if (found == tables.end()) {
        std::vector<std::string> names{std::string(kMainTable)};
        for (const LiveTable& each : tables) {
            names.push_back(each.table.name);
        }
        throw std::runtime_error("there is no table " + table + "; the tables are " +
                                 listed(names));
    }
    write_live_flows(probe_.pipeline, export_options(), *found, write);
}

/// @thread  any
ExportOptions MainLoop::export_options() const {
    const std::lock_guard lock(config_mutex_);
    return exported_of_stored(config_.export_);
}

}  // namespace tributary
