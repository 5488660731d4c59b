// SPDX-License-Identifier: Apache-2.0
#include "daemon/offline.hpp"

#include <sysexits.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/base/spdlog.hpp"
#include "daemon/capture/awaited_capture.hpp"
#include "daemon/capture/capture_files.hpp"
#include "daemon/capture/capture_report.hpp"
#include "daemon/capture/capture_source.hpp"
#include "daemon/capture/parsed_capture.hpp"
#include "daemon/filter/awaited_filter.hpp"
#include "daemon/log/log.hpp"
#include "daemon/pipeline/collector_patience.hpp"
#include "daemon/pipeline/frame_stages.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/pipeline_end.hpp"
#include "daemon/pipeline/signal_loop.hpp"
#include "daemon/table/declared_table.hpp"
#include "daemon/table/table_set.hpp"
#include "daemon/telemetry/report.hpp"
#include "daemon/trigger/capture_dumps.hpp"
#include "daemon/trigger/trigger_set.hpp"
#include "daemon/trigger/trigger_stage.hpp"
#include "daemon/trigger/watched_table.hpp"
#include "export/export_counters.hpp"
#include "export/memory_reserve.hpp"
#include "flowcache/cache_room.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/input/parsed_frame_reader.hpp"
#include "flowcache/input/unified_header_reader.hpp"
#include "flowcache/input/worker_share.hpp"

namespace tributary {
namespace {

ParseOptions parse_of(const Config& config) {
    return parse_options(config.flows, config.read.parse, config.read.trim_length);
}

/// Whether one ParsedCapture parses the frames of all workers. A single worker needs none, and
/// unified headers are parsed already.
bool is_parsed_for_all(const Config& config) {
    return config.read.queues > 1 && config.read.parse != ParseMode::unified_header;
}

/// The workers that each walk all captures.
std::uint16_t walkers_of(const Config& config) {
    return is_parsed_for_all(config) ? std::uint16_t{1} : config.read.queues;
}

/// How packets come to the workers that own their keys.
TableSpreading spreading_of(const Config& config) {
    // Rings never fill while ParsedCapture makes a worker wait; the other workers never wait but
    // for room in rings.
    constexpr std::size_t kBesideBatches = 1024;
    const std::size_t slots =
        is_parsed_for_all(config) ? ParsedCapture::kMostFramesBetween + 1 : kBesideBatches;
    return {.queues = config.read.queues,
            .order = SpreadOrder::capture,
            .slots = static_cast<std::uint32_t>(std::bit_ceil(slots))};
}

/// One worker's source with its counters and its frame stages.
struct OfflineSource {
    /// @param parsed  the frames of all workers; nullptr: this worker walks the files
    /// @param share   which worker it is; whether packets are numbered
    OfflineSource(CaptureFiles& files, ParsedCapture* parsed, const WorkerShare& share,
                  const Config& config, PacketSelector* filter)
        : stages(config.flows,
                 {.one_in = config.read.sampling, .method = config.read.sampling_method}, filter,
                 FragmentTable::kMostSets) {
        if (parsed != nullptr) {
            auto& own = source.emplace<ParsedCaptureShare>(*parsed, counters, share.worker,
                                                           config.read.kept_buffers);
            reader = std::make_unique<ParsedFrameReader<ParsedCaptureShare>>(
                own, stages.parts(parse_of(config)));
        } else if (config.read.parse == ParseMode::unified_header) {
            auto& own = source.emplace<CaptureSource>(files, counters, share.worker);
            reader = std::make_unique<UnifiedHeaderReader<CaptureSource, PacketTimes>>(own, share);
        } else {
            auto& own = source.emplace<CaptureSource>(files, counters,
                                                      InterfaceIndex{config.read.interface_index},
                                                      config.read.kept_buffers);
            reader =
                std::make_unique<FrameReader<CaptureSource>>(own, stages.parts(parse_of(config)));
        }
    }
    OfflineSource(const OfflineSource&) = delete;
    OfflineSource& operator=(const OfflineSource&) = delete;
    ~OfflineSource() = default;

    CaptureCounters counters;
    std::variant<std::monostate, CaptureSource, ParsedCaptureShare> source;
    FrameStages stages;
    std::unique_ptr<PacketReader> reader;
};

/// All captures as the one interface that collectors see.
ObservedInterface observed_captures(const OfflineJob& job, const Config& config) {
    ObservedInterface captures{
        .index = config.read.interface_index,
        .name = "read",
        .description = {},
        .sampling = {.one_in = config.read.sampling, .method = config.read.sampling_method}};
    for (const std::string& path : job.captures) {
        captures.description += captures.description.empty() ? "" : " ";
        captures.description += std::filesystem::path(path).filename().string();
    }
    return captures;
}

std::vector<std::string> all_tables(const Config& config) {
    std::vector<std::string> names{std::string(kMainTable)};
    for (const TableDeclaration& table : config.tables) {
        names.push_back(table.name);
    }
    return names;
}

/// The destinations of the records: the collectors, and the file.
ExportOptions export_options_of(const OfflineJob& job, const Config& config) {
    ExportOptions options = config.export_;
    options.spool = {};  // for the probe only
    if (options.collectors.empty()) {
        options.drain_timeout = std::chrono::hours(24 * 365);  // the reader of a FIFO has time
    }
    if (!job.output.empty()) {
        CollectorOptions output;
        output.transport = TransportKind::file;
        output.path = job.output;
        output.replaces_file = true;  // the user has named it for this run
        output.tables = all_tables(config);
        options.mode = ExportMode::copy;
        options.collectors.push_back(output);
    }
    return options;
}

class OfflineRun {
public:
    OfflineRun(const OfflineJob& job, const Config& config, CaptureFiles& files, Signals& signals)
        : config_(config),
          files_(files),
          signals_(signals),
          loop_(signals, reserve_, [this] { return to_line(ledger()); }),
          has_collectors_(!config.export_.collectors.empty()),
          patience_(config.export_.drain_timeout, std::chrono::steady_clock::now()),
          filter_(await_filter(config.read.filter, FilterLinks::all, signals)),
          tables_({.declarations = config.tables,
                   .own = config.fields,
                   .main = config.flows,
                   .parse = parse_of(config),
                   .spreading = spreading_of(config),
                   .watch = [this](const DeclaredTable& table, std::span<const OwnField> own,
                                   const TableQueuePlace& place) {
                       return watch(table, own, place);
                   }}) {
        if (filter_ != nullptr) {
            spdlog::info("the filter is {}", filter_->execution());
        }
        await_table_filters();
        log_split_tables(config.read.queues);
        if (has_collectors_ && config.export_.spool.is_on()) {
            spdlog::info(
                "export.spool is not used with captures: what no collector takes at the end is "
                "lost");
        }
        const RecordLayout layout = layout_of_flows(config.export_.fields, config.flows);
        const FlowHasher hasher = FlowHasher::random();
        make_triggers(job);
        std::vector<std::unique_ptr<QueueWorker>> queues;
        if (is_parsed_for_all(config)) {
            parsed_ = std::make_unique<ParsedCapture>(files_, config.read.queues,
                                                      InterfaceIndex{config.read.interface_index},
                                                      parse_of(config), tables_.has_exchanges());
        }
        for (std::uint16_t worker = 0; worker < config.read.queues; ++worker) {
            sources_.push_back(
                std::make_unique<OfflineSource>(files_, parsed_.get(),
                                                WorkerShare{.worker = worker,
                                                            .workers = config.read.queues,
                                                            .is_numbered = tables_.has_exchanges()},
                                                config, filter_.get()));
            queues.push_back(make_queue_worker(*sources_.back()->reader,
                                               {.flows = config.flows,
                                                .layout = layout,
                                                .numa_node = {},
                                                .pages = PageUse::offline,
                                                .when_ring_full = WhenRingFull::wait,
                                                .name = fmt::format("read/{}", worker)},
                                               hasher, stages_of_queue(layout, hasher)));
            clocks_.push_back(&queues.back()->clock);
        }
        ExportOptions export_options = export_options_of(job, config);
        pipeline_ = std::make_unique<Pipeline>(Pipeline::Parts{
            .queues = std::move(queues),
            .export_options = std::move(export_options),
            .metering = {.layout = layout,
                         .key = config.flows.key,
                         .further = tables_.for_export(),
                         .interfaces = {observed_captures(job, config)},
                         .totals = [this] { return metering_totals(ledger()); }},
            .wall_clock = [this] { return capture_clock(); },
            .on_collector_event = [this](const CollectorEvent& event) { on_event(event); },
            .further_records = tables_.records()});
    }

    OfflineRun(const OfflineRun&) = delete;
    OfflineRun& operator=(const OfflineRun&) = delete;
    /// No worker waits any longer for another one, which may never have started.
    ~OfflineRun() {
        files_.abandon();
        tables_.abandon();
    }

    /// @param interrupted  the signal that came before; 0: none
    /// @return             the signal that ended the run early; 0: none
    int run(int interrupted) {
        interrupted_ = interrupted;
        PipelinePlaces places{.inputs = {}, .export_thread = {.name = "export", .cpu = {}}};
        for (std::size_t worker = 0; worker < sources_.size(); ++worker) {
            places.inputs.push_back({.name = fmt::format("input-{}", worker), .cpu = {}});
        }
        reserve_.fill();
        pipeline_->start(places, [this] {
            inputs_ended_.store(true, std::memory_order_release);
            signals_.wake();
        });
        if (interrupted == 0) {
            watch(inputs_ended_);
        }
        inputs_were_cut_ = interrupted_ != 0 || has_given_up_;
        if (has_given_up_) {
            files_.abandon();
        } else if (inputs_were_cut_ && files_.cancel()) {
            watch(inputs_ended_);  // packets that came through a pipe are metered
        }
        finish();
        write_dumps();
        reserve_.fill();
        return interrupted_;
    }

    /// Whether a signal came before all captures had been read.
    [[nodiscard]] bool inputs_were_cut() const noexcept { return inputs_were_cut_; }

    /// @thread  any, once the pipeline is made
    [[nodiscard]] Ledger ledger() const {
        Ledger ledger;
        ledger.captures_cut = files_.cut_count();
        ledger.queues.resize(sources_.size());
        for (std::size_t worker = 0; worker < sources_.size(); ++worker) {
            QueueLedger& queue = ledger.queues[worker];
            const CaptureCounters& counters = sources_[worker]->counters;
            queue.name = fmt::format("read/{}", worker);
            queue.bad_timestamp = counters.bad_timestamp.read();
            queue.ignored["unknown_capture_interface"] = counters.unknown_interface.read();
            queue.ignored_octets = counters.unknown_interface_octets.read();
            queue.received = counters.unknown_interface.read();  // no burst yields these frames
        }
        pipeline_->read(ledger);
        tables_.read(ledger);
        if (triggers_) {
            triggers_->read(ledger.recorder.emplace());
        }
        return ledger;
    }

    [[nodiscard]] bool output_failed() const { return !pipeline_->export_failure().empty(); }
    [[nodiscard]] bool is_faulty() const noexcept { return pipeline_->export_is_faulty(); }

private:
    /// @errors  as of TriggerSet() and CaptureDumps()
    void make_triggers(const OfflineJob& job) {
        if (config_.triggers.empty()) {
            return;
        }
        triggers_ = std::make_unique<TriggerSet>(config_.triggers, config_.export_.timestamps,
                                                 WhenEventsFull::wait);
        dumps_ = std::make_unique<CaptureDumps>(
            CaptureDumps::Parts{.set = *triggers_,
                                .captures = job.captures,
                                .flows = config_.flows,
                                .parse = parse_of(config_),
                                .filter = filter_.get(),
                                .interface = {config_.read.interface_index},
                                .is_interrupted = &Signals::is_end_pending});
    }
    [[nodiscard]] std::unique_ptr<FlowWatcher> watch(const DeclaredTable& table,
                                                     std::span<const OwnField> own,
                                                     const TableQueuePlace& place) {
        return triggers_->watch(watch_declared({table.compiled(), table.layout(), table.options()},
                                               config_.flows, own, parse_of(config_)),
                                {.entries = entries_for(table.options()),
                                 .numa_node = place.numa_node,
                                 .pages = place.pages});
    }
    /// The stages of the next worker.
    [[nodiscard]] StageList stages_of_queue(const RecordLayout& layout, FlowHasher hasher) {
        StageList stages = tables_.add_queue(
            {.numa_node = {}, .pages = PageUse::offline, .when_ring_full = WhenRingFull::wait},
            hasher);
        if (config_.flows.dump_files) {
            main_triggers_.push_back(
                triggers_->watch(watch_main(layout, config_.flows, parse_of(config_)),
                                 {.entries = entries_for(config_.flows),
                                  .numa_node = {},
                                  .pages = PageUse::offline}));
            stages.add(std::make_unique<TriggerStage>(*main_triggers_.back()));
        }
        return stages;
    }
    /// Has the packets written for which triggers have fired.
    void write_dumps() {
        if (!dumps_) {
            return;
        }
        if (inputs_were_cut_ || interrupted_ != 0) {
            dumps_->give_up();
            return;
        }
        dumps_->write();
        if (Signals::is_end_pending()) {
            interrupted_ = signals_.wait_for(std::chrono::milliseconds(0)).value_or(SIGTERM);
        }
    }

    /// @errors  as of await_filter()
    void await_table_filters() {
        for (const TableFilter& wanted : tables_.filters()) {
            table_filters_.push_back(await_filter(wanted.expression, FilterLinks::all, signals_));
            wanted.slot->set(table_filters_.back().get());
        }
    }

    /// Says which tables have a record of a flow from each thread.
    void log_split_tables(std::uint16_t threads) const {
        constexpr bool kByPorts = false;
        const std::array inputs{InputSpread{.queues = threads, .by_ports = kByPorts}};
        for (const SplitTable& table : tables_.split_tables(inputs)) {
            spdlog::info(
                "table {}: threads share packets by their addresses, which splits its key, so that "
                "up to {} records of a flow are made at a time, one by each thread",
                table.name, table.records);
        }
    }

    /// The capture's own clock: the time of the most advanced worker.
    [[nodiscard]] Timestamp capture_clock() const {
        Timestamp latest{};  // before the first packet there is none
        for (const PublishedClock* clock : clocks_) {
            latest = std::max(latest, clock->read());
        }
        return latest;
    }

    /// Handles signals until `ended`, or until the first signal that ends the run.
    void watch(const std::atomic<bool>& ended) {
        loop_.run({.is_over = [&ended] { return ended.load(std::memory_order_acquire); },
                   .pause = [] { return std::chrono::seconds(1); },
                   .act = [this, &ended](
                              std::optional<int> signal) { return look_around(ended, signal); },
                   .without_memory = "not enough memory to look after the run, which goes on"});
    }

    /// The second such signal ends the process. @return  false: a signal or the collectors end the
    /// run
    bool look_around(const std::atomic<bool>& ended, std::optional<int> signal) {
        const bool goes_on = !ended.load(std::memory_order_acquire);
        if (goes_on && is_finishing_ && has_collectors_) {
            log_wait();
        }
        if (goes_on && has_given_up()) {
            return false;
        }
        if (!signal) {
            return true;
        }
        if (interrupted_ != 0) {
            signals_.end_process(*signal);
        }
        interrupted_ = *signal;
        SignalLoop::log_stopping(interrupted_);
        return false;
    }

    /// Whether the captures' records wait for collectors in vain. The end has its own time limit.
    [[nodiscard]] bool has_given_up() {
        if (!has_collectors_ || has_given_up_ || is_finishing_ ||
            !patience_.is_over(ledger(), std::chrono::steady_clock::now())) {
            return false;
        }
        has_given_up_ = true;
        spdlog::error("no collector can be reached: the captures are not read on");
        return true;
    }

    /// Logs once what the end waits for.
    void log_wait() noexcept {
        try {
            if (!std::exchange(wait_is_logged_, true)) {
                spdlog::warn(wait_of_end(ledger(), pipeline_->drain_timeout()));
            }
        } catch (const std::bad_alloc&) {
            spdlog::error("not enough memory to log what the end waits for");
        }
    }

    /// Writes the metered flows. The reader of a FIFO may delay it for ever.
    void finish() {
        is_finishing_ = true;
        stop_beside(*pipeline_, signals_, [this](const std::atomic<bool>& finished) {
            while (!finished.load(std::memory_order_acquire)) {
                watch(finished);
            }
        });
    }

    void on_event(const CollectorEvent& event) {
        // The opening of the output alone is not logged.
        if (event.kind != CollectorEventKind::connected || has_collectors_) {
            log_event(event);
        }
    }

    MemoryReserve reserve_;  ///< of the main thread
    const Config& config_;
    CaptureFiles& files_;
    Signals& signals_;
    SignalLoop loop_;
    const bool has_collectors_;  ///< beside the file
    CollectorPatience patience_;
    std::unique_ptr<PacketFilter> filter_;
    std::vector<std::unique_ptr<PacketFilter>> table_filters_;
    std::unique_ptr<TriggerSet> triggers_;  ///< nullptr: there are none
    std::vector<std::unique_ptr<FlowTriggers>> main_triggers_;
    TableSet tables_;
    std::unique_ptr<CaptureDumps> dumps_;    ///< with `triggers_`
    std::unique_ptr<ParsedCapture> parsed_;  ///< nullptr: each worker walks the captures
    std::vector<std::unique_ptr<OfflineSource>> sources_;
    std::vector<const PublishedClock*> clocks_;
    std::atomic<bool> inputs_ended_{false};
    bool has_given_up_ = false;
    bool is_finishing_ = false;
    bool wait_is_logged_ = false;
    int interrupted_ = 0;  ///< the first signal to end the run; 0: none yet
    bool inputs_were_cut_ = false;
    std::unique_ptr<Pipeline> pipeline_;  // last: its threads use the rest
};

}  // namespace

namespace {

/// Records of all tables that were lost, but those of tables that no collector is to get.
std::uint64_t lost_on_the_way(const Ledger& ledger) {
    std::uint64_t lost = 0;
    const auto add = [&lost](const LostByCause& by_cause) {
        for (const auto& [cause, tally] : by_cause) {
            lost += cause == name_of(ExportLoss::no_collector) ? 0 : tally.records;
        }
    };
    add(ledger.total().lost);
    for (const TableLedger& table : ledger.tables) {
        add(table.lost);
    }
    return lost;
}

/// Records of all tables.
std::uint64_t created_records(const Ledger& ledger) {
    std::uint64_t created = ledger.total().metered.records;
    for (const TableLedger& table : ledger.tables) {
        created += table.created.records;
    }
    return created;
}

/// Logs the records sent to each collector; over UDP they may be lost on the way.
void log_collectors(const Ledger& ledger) {
    for (const CollectorLedger& collector : ledger.collectors) {
        spdlog::info("{}: {} flow records, in {} messages", collector.name,
                     collector.counts.at("records"), collector.counts.at("messages"));
    }
}

}  // namespace

int run_offline(const OfflineJob& job, const Config& config, Signals& signals) {
    const FileDescriptor stats_fifo = check_stats_path(job.stats_path);
    CaptureFiles files(job.captures, walkers_of(config));
    const int signal = await_first_capture(files, signals);
    OfflineRun run(job, config, files, signals);
    const int interrupted = run.run(signal);
    if (job.on_written) {
        job.on_written();
    }
    const bool all_read = run.inputs_were_cut() || report_captures(files, "metered");
    const Ledger ledger = run.ledger();
    const bool has_collectors = !config.export_.collectors.empty();
    if (has_collectors) {
        log_collectors(ledger);
    }
    const int reported = report_ledger(ledger, job.stats_path);
    if (run.is_faulty()) {
        return EX_SOFTWARE;
    }
    const std::uint64_t lost = has_collectors ? lost_on_the_way(ledger) : 0;
    const bool has_lost = lost > 0;
    if (has_lost) {
        spdlog::error("not all flow records have left: no collector has {} of {}", lost,
                      created_records(ledger));
    }
    if (run.output_failed() || has_lost) {
        return EX_IOERR;
    }
    if (interrupted != 0) {
        spdlog::warn("interrupted: {} {}", job.destination,
                     run.inputs_were_cut() ? "what was read until then" : "all that was metered");
        return 128 + interrupted;
    }
    if (!all_read) {
        return EX_NOINPUT;
    }
    return reported;
}

}  // namespace tributary
