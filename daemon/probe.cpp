// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe.hpp"

#include <sysexits.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/spdlog.hpp"
#include "daemon/cli/program.hpp"
#include "daemon/log/log.hpp"
#include "daemon/machine/device.hpp"
#include "daemon/machine/host_clock.hpp"
#include "daemon/machine/node_heap.hpp"
#include "daemon/machine/pinned_thread.hpp"
#include "daemon/machine/placement.hpp"
#include "daemon/machine/topology.hpp"
#include "daemon/main_loop.hpp"
#include "daemon/pipeline/frame_stages.hpp"
#include "daemon/pipeline/live_flows.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/pipeline_end.hpp"
#include "daemon/pipeline/signal_loop.hpp"
#include "daemon/pipeline/source_ledger.hpp"
#include "daemon/plan/probe_plan.hpp"
#include "daemon/port/burst_clock.hpp"
#include "daemon/port/dpdk_queue.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/eth_port.hpp"
#include "daemon/port/packet_pool.hpp"
#include "daemon/probe_filters.hpp"
#include "daemon/probe_recorder.hpp"
#include "daemon/probe_tables.hpp"
#include "daemon/probe_triggers.hpp"
#include "daemon/table/table_set.hpp"
#include "daemon/telemetry/report.hpp"
#include "daemon/telemetry/service_manager.hpp"
#include "export/memory_reserve.hpp"
#include "flowcache/cache_room.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "flowcache/input/unified_header_reader.hpp"
#include "flowcache/input/worker_share.hpp"

namespace tributary {
namespace {

/// The export options, with the groups that follow from the metering options, as a reload compares
/// them.
ExportOptions exported(const Config& config) {
    ExportOptions options = config.export_;
    options.fields = effective_groups(options.fields, config.flows);
    return options;
}

EalOptions eal_options(const Config& config, const ProbePlan& plan, const CorePlan& cores) {
    EalOptions options{.devices = plan.devices,
                       .main_cpus = cores.helper_cpus,
                       .has_telemetry = config.telemetry.dpdk};
    for (const PoolSize& pool : plan.pools) {
        options.memory_bytes += pool.memory();
    }
    for (const std::optional<PoolSize>& heads : plan.heads) {
        options.memory_bytes += heads ? heads->memory() : 0;
    }
    return options;
}

/// Places all threads, and puts the main one on its core before any other thread begins: DPDK's and
/// those that compile filters inherit it.
CorePlan take_places(const Config& config, const ProbePlan& plan) {
    CorePlan cores = place_threads(config.cores, read_topology(), plan.queues);
    keep_main_thread_on(cores.helper_cpus);
    return cores;
}

/// A stopped probe ends with 0, whatever its collectors have missed: the exit code is about the
/// program. If not one record has left, the log says so.
void log_vain_run(const QueueLedger& total) {
    const std::uint64_t lost = total.lost_sum().records;
    if (lost > 0 && total.exported.records == 0 && total.spooled.records == 0) {
        spdlog::error("no flow record has left: {} are lost", lost);
    }
}

/// Tables with fields of the user's own have inputs that all parse alike; the others do not ask.
ParseOptions parse_of_tables(const Config& config) {
    const InputOptions& first = config.inputs.front();
    return parse_options(config.flows, first.parse, first.trim_length);
}

/// Those of the inputs, then those of the tables in the order of TableSet::filters(), and then that
/// of the recorder.
std::vector<WantedFilter> wanted_filters(const Config& config, const TableSet& tables) {
    std::vector<WantedFilter> wanted;
    wanted.reserve(config.inputs.size());
    for (const InputOptions& input : config.inputs) {
        wanted.push_back({.owner = "input " + input.name,
                          .expression = input.filter,
                          .meanwhile = "its packets are ignored as filter_not_ready"});
    }
    const std::vector<TableFilter> of_tables = tables.filters();
    std::ranges::transform(of_tables, std::back_inserter(wanted), wanted_filter);
    wanted.push_back({.owner = "recorder.filter",
                      .expression = config.recorder.filter,
                      .meanwhile = "the recorder counts frames as filter_not_ready"});
    return wanted;
}

/// The parts of a running probe, in the order of their dependencies.
class Probe {
public:
    Probe(const Config& config, const ProbeOptions& options, Signals& signals)
        : config_(config),
          options_(options),
          signals_(signals),
          plan_(plan_probe(config)),
          layout_(layout_of_flows(config.export_.fields, config.flows)),
          cores_(take_places(config, plan_)),
          tables_({.declarations = config.tables,
                   .own = config.fields,
                   .main = config.flows,
                   .parse = parse_of_tables(config),
                   .spreading = {.queues = plan_.queues.size()},
                   .watch =
                       [this](const DeclaredTable& table, std::span<const OwnField> own,
                              const TableQueuePlace& place) {
                           return triggers_->watch(table, own, place);
                       }}),
          recorder_filter_(config.inputs.size() + tables_.filters().size()),
          filters_(wanted_filters(config, tables_)),
          eal_(eal_options(config, plan_, cores_)) {
        for (const std::string& warning : cores_.warnings) {
            spdlog::warn(warning);
        }
        for (const PoolSize& size : plan_.pools) {
            pools_.push_back(std::make_unique<PacketPool>(size));
        }
        for (std::size_t input = 0; input < config.inputs.size(); ++input) {
            open_input(input);
        }
        const FlowHasher hasher = FlowHasher::random();
        make_recorder(hasher);
        make_pipeline(hasher);
    }

    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;
    /// No input thread waits any longer for another one, which may never have started.
    ~Probe() { tables_.abandon(); }

    /// Polls until a signal or a final export failure ends it. @return  exit code
    int run() {
        start();
        const int watched = watch();
        reserve_.fill();
        probe_tables_->end_changes();  // where the main loop could not even begin
        end_pipeline(*pipeline_, signals_, loop_, [this] { return ledger(); });
        tables_.refuse_rest();
        if (triggers_) {
            triggers_->end();  // the last records may have fired some
        }
        const Ledger last = ledger();
        const int reported = report_ledger(last, options_.stats_path);
        log_vain_run(last.total());
        return exit_code(watched, reported);
    }

private:
    struct Queue {
        std::string name;
        std::unique_ptr<DpdkQueue> source;
        std::unique_ptr<FrameStages> stages;
        std::unique_ptr<PacketReader> reader;
    };

    void start() {
        reserve_.fill();
        for (std::size_t input = 0; input < ports_.size(); ++input) {
            ports_[input]->start();
            std::ranges::move(ports_[input]->idle_waits(cores_.back_off,
                                                        [this] { return tables_.has_exchanges(); }),
                              std::back_inserter(places_.idle_waits));
            const auto warning =
                biflow_warning(config_.inputs[input], config_.flows, ports_[input]->rss());
            if (warning) {
                spdlog::warn(*warning);
            }
        }
        log_split(split_tables());
        filters_.await_what_asks_no_resolver();
        for (std::size_t input = 0; input < ports_.size(); ++input) {
            const QueueRange range = queues_of(input);
            for (std::size_t queue = 0; queue < range.count; ++queue) {
                queues_[range.first + queue].reader->set_filter(filters_.selector(input));
            }
        }
        for (std::size_t table = 0; table < tables_.filters().size(); ++table) {
            const std::size_t index = ports_.size() + table;
            probe_tables_->give_filter(index, filters_.selector(index));
        }
        if (recorder_ && recorder_->filter() != nullptr) {
            recorder_->filter()->set(filters_.selector(recorder_filter_));
        }
        if (triggers_) {
            triggers_->start();
        }
        pipeline_->start(places_, [] {});
        pipeline_->wait_until_polled();
    }

    void log_ready() const {
        spdlog::info("ready: {} queue(s) of {} input(s) are polled", queues_.size(), ports_.size());
    }

    /// The tables in which a flow may have several records at a time.
    [[nodiscard]] std::vector<SplitTable> split_tables() const {
        std::vector<InputSpread> inputs;
        for (std::size_t input = 0; input < ports_.size(); ++input) {
            inputs.push_back(
                {.queues = queues_of(input).count, .by_ports = ports_[input]->rss().by_ports});
        }
        return tables_.split_tables(inputs);
    }

    static void log_split(const std::vector<SplitTable>& tables) {
        for (const SplitTable& table : tables) {
            spdlog::info(
                "table {}: its key is split over queues, so that up to {} records of a flow are "
                "made at a time, one by each queue",
                table.name, table.records);
        }
    }

    /// The same of tables that a reload has begun.
    void log_split_of(const std::vector<std::string>& begun) const {
        std::vector<SplitTable> split = split_tables();
        std::erase_if(split, [&begun](const SplitTable& table) {
            return std::ranges::find(begun, table.name) == begun.end();
        });
        log_split(split);
    }

    /// Puts a filter in where its packets are.
    ///
    /// @param index   of ProbeFilters
    /// @errors        ThreadHangs
    void give_filter(std::size_t index, const LiveFilter& filter) {
        if (index < ports_.size()) {
            set_live_filter(*pipeline_, queues_of(index), filter);
        } else if (index == recorder_filter_) {
            recorder_->filter()->set(filter.wanted);
        } else {
            probe_tables_->give_filter(index, filter.wanted);
        }
    }

    /// The main thread's work until the end begins. After any exception the metered flows are still
    /// exported, and the ledger is written.
    ///
    /// @return  exit code
    int watch() noexcept {
        int code = EX_OK;
        try {
            InputWatch inputs(eal_, watched_inputs());
            if (recorder_) {
                recorder_->serve(triggers_ ? triggers_->commands() : ControlCommands{});
            }
            MainLoop(
                {.pipeline = *pipeline_,
                 .log_ready = [this] { log_ready(); },
                 .service = service_manager_,
                 .signals = signals_,
                 .loop = loop_,
                 .layout = layout_,
                 .stored = layout_.groups(),
                 .ledger = [this] { return ledger(); },
                 .inputs = [this] { return input_figures(); },
                 .input_watch = inputs,
                 .filters = filters_,
                 .give_filter = [this](std::size_t index,
                                       const LiveFilter& filter) { give_filter(index, filter); },
                 .clock = [this] { return worst_clock(); },
                 .memory = [this] { return memory(); },
                 .tables = *probe_tables_},
                config_, options_)
                .run();
            if (inputs.are_all_lost()) {
                code = EX_UNAVAILABLE;
                spdlog::error("no input is left: stopping, with exit code {}, to be started anew",
                              code);
            }
        } catch (...) {
            code = explain_failure("tributaryd");
        }
        service_manager_.notify_stopping();
        if (recorder_) {
            recorder_->stop_serving();
        }
        return code;
    }

    /// @param watched   exit code of watch()
    /// @param reported  exit code of the ledger
    [[nodiscard]] int exit_code(int watched, int reported) const {
        if (pipeline_->export_is_faulty()) {
            return EX_SOFTWARE;
        }
        if (!pipeline_->export_failure().empty()) {
            return EX_IOERR;
        }
        return reported == EX_OK ? watched : reported;
    }

    void open_input(std::size_t index) {
        const InputOptions& input = plan_.inputs[index];
        const PacketPool* heads = nullptr;
        if (const std::optional<PoolSize>& size = plan_.heads[index]) {
            head_pools_.push_back(
                std::make_unique<PacketPool>(*size, "heads_" + std::to_string(index)));
            heads = head_pools_.back().get();
        }
        ports_.push_back(std::make_unique<EthPort>(
            eal_.port_of(plan_.devices[index]), input, plan_.devices[index],
            pool_of_node(pools_, plan_.nodes[index]), heads));
        const std::uint32_t interface = input.interface_index != 0
                                            ? input.interface_index
                                            : static_cast<std::uint32_t>(index + 1);
        const SamplingOptions sampling{.one_in = input.sampling, .method = input.sampling_method};
        const std::string& kernel_name = plan_.devices[index].kernel_interface;
        interfaces_.push_back({.index = interface,
                               .name = kernel_name.empty() ? input.device : kernel_name,
                               .description = input.name,
                               .sampling = sampling});
        const NodeHeap heap(plan_.nodes[index]);
        const ClockOf clock_of =
            input.parse == ParseMode::unified_header ? ClockOf::records : ClockOf::packets;
        for (std::uint16_t queue = 0; queue < input.queues; ++queue) {
            auto source = std::make_unique<DpdkQueue>(*ports_.back(), queue,
                                                      InterfaceIndex{interface}, clock_of);
            auto stages = std::make_unique<FrameStages>(
                config_.flows, sampling, filters_.selector(index), FragmentTable::kFirstSets);
            auto reader = make_reader(input, *source, *stages);
            queues_.push_back({.name = fmt::format("{}/{}", input.name, queue),
                               .source = std::move(source),
                               .stages = std::move(stages),
                               .reader = std::move(reader)});
            places_.inputs.push_back({.name = fmt::format("in-{}", queues_.size() - 1),
                                      .cpu = cores_.input_cpus[queues_.size() - 1],
                                      .uses_dpdk = true});
            queue_nodes_.push_back(plan_.nodes[index]);
        }
    }

    [[nodiscard]] std::unique_ptr<PacketReader> make_reader(const InputOptions& input,
                                                            DpdkQueue& source,
                                                            FrameStages& stages) const {
        if (input.parse == ParseMode::unified_header) {
            // The source publishes this host's clock; time comes with the records.
            constexpr bool kPacketTimes = true;
            return std::make_unique<UnifiedHeaderReader<DpdkQueue, BurstClock>>(
                source, WorkerShare{}, kPacketTimes);
        }
        return std::make_unique<FrameReader<DpdkQueue>>(
            source, stages.parts(parse_options(config_.flows, input.parse, input.trim_length)));
    }

    void make_recorder(FlowHasher hasher) {
        if (config_.recorder.memory == 0) {
            return;
        }
        std::vector<RecorderPlace> places;
        for (std::size_t input = 0; input < config_.inputs.size(); ++input) {
            const InputOptions& of = plan_.inputs[input];
            for (std::uint16_t queue = 0; queue < of.queues; ++queue) {
                places.push_back({.name = queues_[places.size()].name,
                                  .interface = interfaces_[input].name,
                                  .number = queue,
                                  .is_recorded = config_.recorder.records(of.name),
                                  .flow_entries = entries_for(config_.flows),
                                  .parse = parse_options(config_.flows, of.parse, of.trim_length),
                                  .numa_node = plan_.nodes[input],
                                  .cpu = places_.inputs[places.size()].cpu});
            }
        }
        // Some 0.5 s of CPU time for a GiB, and seven times as much for a slow machine.
        constexpr std::uint64_t kOctetsInASecond = std::uint64_t{1} << 28U;
        constexpr std::chrono::seconds kRest{90};
        service_manager_.extend_start(
            kRest + std::chrono::seconds(config_.recorder.memory / kOctetsInASecond));
        recorder_ = std::make_unique<ProbeRecorder>(config_.recorder, hasher, std::move(places));
        if (!config_.triggers.empty()) {
            triggers_ = std::make_unique<ProbeTriggers>(config_, layout_, recorder_->rings(),
                                                        queue_nodes_, hasher);
        }
    }

    void make_pipeline(FlowHasher hasher) {
        std::vector<std::unique_ptr<QueueWorker>> input_queues;
        bool huge_pages = true;
        std::uint64_t cache_bytes = 0;
        for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
            const NodeHeap heap(queue_nodes_[queue]);
            const QueueParts parts{.flows = config_.flows,
                                   .layout = layout_,
                                   .numa_node = queue_nodes_[queue],
                                   .name = queues_[queue].name};
            StageList stages = tables_.add_queue({.numa_node = parts.numa_node}, hasher);
            add_stages(queue, stages);
            input_queues.push_back(
                make_queue_worker(*queues_[queue].reader, parts, hasher, std::move(stages)));
            cache_bytes += queue_memory(parts).front();
            for (const TableMemory& table : plan_.tables) {
                cache_bytes += table.cache;
            }
            huge_pages = huge_pages && input_queues.back()->huge_pages();
        }
        huge_pages = huge_pages && tables_.huge_pages() &&
                     (!recorder_ || recorder_->huge_pages()) &&
                     (!triggers_ || triggers_->huge_pages());
        cache_bytes += config_.recorder.memory;
        if (!huge_pages) {
            spdlog::warn(
                "flow caches and recorder need {} MiB in huge pages, and too few are free: the "
                "rest gets "
                "ordinary memory; `tributary plan` shows how many the whole probe needs "
                "(vm.nr_hugepages)",
                (cache_bytes >> 20U) + 1);
        }
        places_.export_thread = {.name = "export", .cpu = cores_.export_cpu};
        pipeline_ = std::make_unique<Pipeline>(Pipeline::Parts{
            .queues = std::move(input_queues),
            .export_options = exported(config_),
            .metering = {.layout = layout_,
                         .key = config_.flows.key,
                         .further = tables_.for_export(),
                         .knows_drops = std::ranges::all_of(
                             ports_, [](const auto& port) { return port->is_missed_known(); }),
                         .interfaces = interfaces_,
                         .totals = [this] { return metering_totals(ledger()); }},
            .wall_clock = host_clock,
            .on_collector_event = [this](const CollectorEvent& event) { on_event(event); },
            .further_records = tables_.records()});
        probe_tables_ = std::make_unique<ProbeTables>(
            ProbeTables::Parts{
                .tables = tables_,
                .filters = filters_,
                .pipeline = *pipeline_,
                .parse = parse_of_tables(config_),
                .add_stages = [this](std::size_t queue,
                                     StageList& stages) { add_stages(queue, stages); },
                .on_begin = [this](const auto& names) { log_split_of(names); }},
            ports_.size());
    }

    /// Adds the stages of a queue that are not of tables.
    void add_stages(std::size_t queue, StageList& stages) {
        if (triggers_) {
            triggers_->add_stage(queue, stages);
        }
        if (recorder_) {
            recorder_->add_stage(queue, stages);
        }
    }

    [[nodiscard]] QueueRange queues_of(std::size_t input) const {
        QueueRange range{.first = 0, .count = config_.inputs[input].queues};
        for (std::size_t before = 0; before < input; ++before) {
            range.first += config_.inputs[before].queues;
        }
        return range;
    }

    [[nodiscard]] ClockLedger worst_clock() const {
        ClockLedger worst;
        for (const Queue& queue : queues_) {
            worst.worsen(clock_of(*queue.source));
        }
        return worst;
    }

    [[nodiscard]] std::vector<InputWatch::Input> watched_inputs() const {
        std::vector<InputWatch::Input> inputs;
        std::size_t next_queue = 0;
        for (std::size_t input = 0; input < ports_.size(); ++input) {
            inputs.push_back({.name = config_.inputs[input].name,
                              .device = plan_.devices[input],
                              .port = ports_[input].get(),
                              .queues = {}});
            for (std::uint16_t queue = 0; queue < config_.inputs[input].queues; ++queue) {
                inputs.back().queues.push_back(queues_[next_queue++].source.get());
            }
        }
        return inputs;
    }

    /// @thread  any
    [[nodiscard]] std::vector<InputFigures> input_figures() const {
        std::vector<InputFigures> figures;
        for (std::size_t input = 0; input < ports_.size(); ++input) {
            figures.push_back({.name = config_.inputs[input].name, .link = ports_[input]->link()});
        }
        return figures;
    }

    /// The memory of each part, with what is in use of it.
    /// @thread  any, once the pipeline is made
    [[nodiscard]] std::vector<MemoryPart> memory() const {
        ProbePlan plan = plan_;
        plan.tables = tables_.memory();
        std::vector<MemoryPart> parts = memory_parts(plan, config_);
        for (MemoryPart& part : parts) {
            if (part.part == kPacketBuffers) {
                part.used = octets_in_use(pools_, part.node);
            } else if (part.part == kHeadBuffers) {
                part.used = octets_in_use(head_pools_, part.node);
            } else if (part.part == kRecordRings) {
                part.used = share_of(part.octets, ring_fill(part.node));
            } else if (part.part == kFlowCaches) {
                part.used = share_of(part.octets, cache_fill(part.node));
            } else if (part.part == kTableRings) {
                part.used = share_of(part.octets, table_fill(part.node, &TableSet::rings));
            } else if (part.part == kTableInboxes) {
                part.used = share_of(part.octets, table_fill(part.node, &TableSet::inboxes));
            } else if (part.part == kTableCaches) {
                part.used = share_of(part.octets, table_fill(part.node, &TableSet::flows));
            }
        }
        return parts;
    }

    using Pools = std::vector<std::unique_ptr<PacketPool>>;

    [[nodiscard]] static std::uint64_t octets_in_use(const Pools& pools, const NumaNode& node) {
        std::uint64_t octets = 0;
        for (const auto& pool : pools) {
            const PoolSize& size = pool->size();
            octets +=
                size.node == node ? share_of(size.memory(), {pool->in_use(), size.buffers}) : 0;
        }
        return octets;
    }

    /// Records that are there, and room for them.
    [[nodiscard]] RingFill ring_fill(const NumaNode& node) const {
        RingFill sum;
        const std::vector<RingFill> rings = pipeline_->rings();
        for (std::size_t queue = 0; queue < rings.size(); ++queue) {
            if (queue_nodes_[queue] == node) {
                sum.records += rings[queue].records;
                sum.room += rings[queue].room;
            }
        }
        return sum;
    }

    /// Flows whose records have begun and not ended, and room for them.
    [[nodiscard]] RingFill cache_fill(const NumaNode& node) const {
        Ledger ledger;
        ledger.queues.resize(queues_.size());
        pipeline_->read(ledger);
        RingFill sum;
        for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
            if (queue_nodes_[queue] != node) {
                continue;
            }
            const QueueLedger& counts = ledger.queues[queue];
            const std::uint64_t ended =
                std::accumulate(counts.ended.begin(), counts.ended.end(), std::uint64_t{0});
            // The counters are not read at one instant.
            sum.records += counts.metered.records - std::min(ended, counts.metered.records);
            sum.room += config_.flows.max_flows;
        }
        return sum;
    }

    /// The same of the declared tables' caches or rings.
    [[nodiscard]] RingFill table_fill(const NumaNode& node,
                                      RingFill (TableSet::*of)(std::size_t) const) const {
        RingFill sum;
        for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
            if (queue_nodes_[queue] == node) {
                const RingFill fill = (tables_.*of)(queue);
                sum.records += fill.records;
                sum.room += fill.room;
            }
        }
        return sum;
    }

    [[nodiscard]] static std::uint64_t share_of(std::uint64_t octets, const RingFill& fill) {
        const double share =
            fill.room == 0 ? 0 : static_cast<double>(fill.records) / static_cast<double>(fill.room);
        return static_cast<std::uint64_t>(static_cast<double>(octets) * std::min(share, 1.0));
    }

    void on_event(const CollectorEvent& event) {
        log_event(event);
        if (event.kind == CollectorEventKind::write_failed) {
            signals_.wake();  // it may have been the last
        }
    }

    /// @thread  any, once the pipeline is made
    [[nodiscard]] Ledger ledger() const {
        Ledger ledger;
        for (const Queue& queue : queues_) {
            ledger.queues.emplace_back();
            ledger.queues.back().name = queue.name;
            read_source(*queue.source, ledger.queues.back());
        }
        std::size_t first_queue = 0;
        for (std::size_t input = 0; input < ports_.size(); ++input) {
            const NicCounters counters = ports_[input]->counters();
            ledger.ports.push_back({.name = config_.inputs[input].name,
                                    .missed = counters.missed,
                                    .no_buffer = counters.no_buffer,
                                    .errors = counters.errors});
            for (std::size_t queue = 0; queue < config_.inputs[input].queues; ++queue) {
                ledger.queues[first_queue + queue].nic_queue_errors =
                    queue < counters.queue_errors.size()
                        ? std::optional(counters.queue_errors[queue])
                        : std::nullopt;
            }
            first_queue += config_.inputs[input].queues;
        }
        pipeline_->read(ledger);
        tables_.read(ledger);
        if (recorder_) {
            recorder_->read(ledger);
        }
        if (triggers_ && ledger.recorder) {  // there are no triggers without a recorder
            triggers_->read(*ledger.recorder);
        }
        return ledger;
    }

    MemoryReserve reserve_;  ///< of the main thread
    const Config& config_;   ///< as at the start
    const ProbeOptions& options_;
    Signals& signals_;
    SignalLoop loop_{signals_, reserve_, [this] { return to_line(ledger()); }};
    ProbePlan plan_;
    RecordLayout layout_;  ///< of the records that the caches make
    CorePlan cores_;
    TableSet tables_;
    std::size_t recorder_filter_;  ///< the index of the recorder's filter
    ProbeFilters filters_;         ///< before EAL: compilation goes on while EAL starts
    Eal eal_;
    std::vector<std::unique_ptr<PacketPool>> pools_;
    std::vector<std::unique_ptr<PacketPool>> head_pools_;
    std::vector<std::unique_ptr<EthPort>> ports_;
    std::vector<Queue> queues_;
    std::vector<NumaNode> queue_nodes_;
    std::vector<ObservedInterface> interfaces_;
    ServiceManager service_manager_;
    PipelinePlaces places_;
    std::unique_ptr<ProbeRecorder> recorder_;    ///< nullptr: there is none
    std::unique_ptr<ProbeTriggers> triggers_;    ///< nullptr: there are none
    std::unique_ptr<Pipeline> pipeline_;         // its threads use the rest
    std::unique_ptr<ProbeTables> probe_tables_;  ///< once the pipeline is made
};

}  // namespace

int run_probe(const Config& config, const ProbeOptions& options, Signals& signals) {
    const FileDescriptor stats_fifo = check_stats_path(options.stats_path);
    Probe probe(config, options, signals);
    return probe.run();
}

}  // namespace tributary
