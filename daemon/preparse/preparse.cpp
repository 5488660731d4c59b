// SPDX-License-Identifier: Apache-2.0
#include "daemon/preparse/preparse.hpp"

#include <rte_ether.h>
#include <sysexits.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/spdlog.hpp"
#include "daemon/capture/awaited_capture.hpp"
#include "daemon/capture/capture_files.hpp"
#include "daemon/capture/capture_report.hpp"
#include "daemon/capture/capture_writer.hpp"
#include "daemon/filter/awaited_filter.hpp"
#include "daemon/machine/pinned_thread.hpp"
#include "daemon/pipeline/frame_stages.hpp"
#include "daemon/pipeline/idle_back_off.hpp"
#include "daemon/pipeline/last_bursts.hpp"
#include "daemon/pipeline/signal_loop.hpp"
#include "daemon/pipeline/source_ledger.hpp"
#include "daemon/port/dpdk_queue.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/eth_port.hpp"
#include "daemon/port/input_watch.hpp"
#include "daemon/preparse/capture_feed.hpp"
#include "daemon/preparse/preparse_ledger.hpp"
#include "daemon/preparse/preparse_plan.hpp"
#include "daemon/telemetry/clock_watch.hpp"
#include "daemon/telemetry/report.hpp"
#include "export/memory_reserve.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Eal> start_eal(const PreparsePlan& plan) {
    return plan.devices.empty() ? nullptr : std::make_unique<Eal>(eal_options(plan));
}

/// Plans the job, and puts the main thread on its core before any other thread begins.
PreparsePlan take_places(const PreparseJob& job, const Config& config, std::uint16_t streams) {
    PreparsePlan plan = plan_preparse(job, config, streams);
    if (!plan.devices.empty()) {
        keep_main_thread_on(plan.cores.helper_cpus);
    }
    return plan;
}

/// The parts of a running preparse, in the order of their dependencies.
class PreparseRun {
public:
    PreparseRun(const PreparseJob& job, const Config& config, Signals& signals)
        : job_(job),
          config_(config),
          signals_(signals),
          input_(input_of(job, config)),
          plan_(take_places(job, config, input_.streams)),
          files_(job.captures, 1),
          early_signal_(await_first_capture(files_, signals)),
          eal_(start_eal(plan_)),
          filter_(await_filter(input_.filter, input_.links, signals)),
          output_may_wait_(!job.captures.empty()) {
        if (filter_ != nullptr) {
            spdlog::info("the filter is {}", filter_->execution());
        }
        for (const std::string& warning : plan_.cores.warnings) {
            spdlog::warn(warning);
        }
        for (const PoolSize& size : plan_.pools) {
            pools_.push_back(std::make_unique<PacketPool>(size));
        }
        open_ports();
        for (std::uint16_t number = 0; number < input_.streams; ++number) {
            streams_.push_back(make_stream(number));
        }
    }
    ~PreparseRun() { stop(); }
    PreparseRun(const PreparseRun&) = delete;
    PreparseRun& operator=(const PreparseRun&) = delete;

    /// @return  the signal that ended the reading of captures early; 0: none
    int run() {
        if (output_) {
            output_->start();
            wait_for_link();
        }
        if (input_port_) {
            input_port_->start();
            idle_waits_ = input_port_->idle_waits(plan_.cores.back_off);
            watch_input();
        }
        for (const auto& stream : streams_) {
            start_thread(*stream);
        }
        reserve_.fill();
        spdlog::info("ready: {} stream(s)", streams_.size());
        const int interrupted = watch();
        const int again = finish_pipe();
        if (writer_) {  // the reader of its FIFO may block the rest for ever
            if (again != 0) {
                signals_.end_process(again);
            }
            signals_.let_go();
        }
        stop();
        if (output_) {
            output_->linger();
        }
        return interrupted;
    }

    [[nodiscard]] PreparseLedger ledger() const {
        PreparseLedger ledger;
        ledger.captures_cut = files_.cut_count();
        for (const auto& stream : streams_) {
            StreamLedger& entry = ledger.streams.emplace_back();
            entry.input.name = stream->name;
            entry.stream = stream->number;
            read_stream(stream->counters, entry);
            if (stream->source) {
                read_source(*stream->source, entry.input);
            }
            if (stream->feed) {
                entry.input.bad_timestamp = stream->feed->bad_timestamps().read();
                const std::uint64_t unknown = stream->feed->unknown_interface().read();
                entry.lost["unknown_capture_interface"] = unknown;
                entry.input.received += unknown;
            }
        }
        if (input_port_) {
            ledger.nic = input_port_->counters();
        }
        return ledger;
    }

    [[nodiscard]] const CaptureFiles& files() const noexcept { return files_; }
    [[nodiscard]] std::string write_failure() const {
        return writer_ ? writer_->failure() : std::string();
    }
    /// Its device was removed for good: no packet is received any more.
    [[nodiscard]] bool has_lost_input() const {
        return input_watch_ && input_watch_->are_all_lost();
    }

private:
    struct Stream {
        std::string name;
        std::uint32_t number{};
        PreparseCounters counters;
        std::unique_ptr<FrameStages> stages;
        std::unique_ptr<FrameSink> sink;
        std::unique_ptr<PreparseStream> stream;
        std::unique_ptr<DpdkQueue> source;  ///< this or `feed`
        std::unique_ptr<CaptureFeed> feed;
    };

    void open_ports() {
        if (plan_.heads) {
            head_pool_ = std::make_unique<PacketPool>(*plan_.heads, "heads");
        }
        if (plan_.input) {
            input_port_ = std::make_unique<EthPort>(
                eal_->port_of(plan_.devices.front()), *plan_.input, plan_.devices.front(),
                pool_of_node(pools_, plan_.nodes.front()), head_pool_.get());
        }
        if (!plan_.output) {
            writer_ = std::make_unique<CaptureWriter>(job_.to_capture);
            return;
        }
        output_ = std::make_unique<TransmitPort>(eal_->port_of(plan_.devices.back()), *plan_.output,
                                                 pool_of_node(pools_, plan_.nodes.back()));
    }

    std::unique_ptr<Stream> make_stream(std::uint16_t queue) {
        auto made = std::make_unique<Stream>();
        made->number = job_.first_stream + queue;
        made->stages = std::make_unique<FrameStages>(
            config_.flows, input_.sampling, filter_.get(),
            input_port_ ? FragmentTable::kFirstSets : FragmentTable::kMostSets);
        if (output_) {
            made->sink = std::make_unique<TransmitQueue>(*output_, queue, job_.destination,
                                                         output_may_wait_);
        } else {
            made->sink = std::make_unique<CaptureSink>(*writer_, job_.mtu + RTE_ETHER_HDR_LEN);
        }
        made->stream = std::make_unique<PreparseStream>(
            made->number, made->stages->parts(input_.parse), *made->sink, made->counters);
        if (input_port_) {
            made->name = fmt::format("{}/{}", plan_.input->name, queue);
            made->source =
                std::make_unique<DpdkQueue>(*input_port_, queue, input_.ingress_interface);
        } else {
            made->name = "read";
            made->feed =
                std::make_unique<CaptureFeed>(files_, *made->stream, input_.ingress_interface);
        }
        return made;
    }

    /// A NIC needs seconds, a memif moments; frames sent before would be lost.
    void wait_for_link() {
        const auto end = std::chrono::steady_clock::now() + job_.link_wait;
        while (early_signal_ == 0 && !output_->is_up() && std::chrono::steady_clock::now() < end) {
            if (const auto signal = signals_.wait_for(10ms); signal && *signal != SIGUSR1) {
                early_signal_ = *signal;
            }
        }
        link_is_up_ = output_->is_up();
        if (!link_is_up_ && early_signal_ == 0) {
            spdlog::warn("output {}: link down", job_.to_device);
        }
    }

    void watch_input() {
        InputWatch::Input input{plan_.input->name, plan_.devices.front(), input_port_.get(), {}};
        for (const auto& stream : streams_) {
            input.queues.push_back(stream->source.get());
        }
        input_watch_.emplace(*eal_, std::vector{std::move(input)});
    }

    void look_at_devices_and_clock() {
        if (input_watch_) {
            input_watch_->look();
            ClockLedger worst;
            for (const auto& stream : streams_) {
                worst.worsen(clock_of(*stream->source));
            }
            if (const std::optional<std::string> change = clock_watch_.look(worst)) {
                spdlog::warn(*change);
            }
        }
        if (output_ && output_->is_up() != link_is_up_) {
            link_is_up_ = !link_is_up_;
            spdlog::warn("output {}: link {}", job_.to_device, link_is_up_ ? "up" : "down");
        }
    }

    void start_thread(Stream& stream) {
        const std::size_t index = threads_.size();
        ThreadPlace place{.name = fmt::format("pre-{}", index), .cpu = {}};
        if (eal_) {
            place.cpu = plan_.cores.input_cpus[index];
            place.uses_dpdk = true;
        }
        IdleWait idle_wait = stream.feed ? IdleWait{} : idle_waits_[index];
        threads_.push_back(std::make_unique<PinnedThread>(
            place, [this, &stream, idle_wait = std::move(idle_wait)] {
                if (stream.feed) {
                    stream.feed->run(stop_);
                    ended_.store(true, std::memory_order_relaxed);
                    signals_.wake();
                } else {
                    run_queue(*stream.source, *stream.stream, idle_wait);
                }
            }));
    }

    void run_queue(DpdkQueue& source, PreparseStream& stream, const IdleWait& idle_wait) noexcept {
        IdleBackOff idle(idle_wait);
        while (!stop_.load(std::memory_order_relaxed)) {
            idle.after_poll(poll(source, stream) > 0);
        }
        take_last_bursts(
            [&] { return poll(source, stream) > 0 ? LastBurst::whole : LastBurst::none; });
        stream.flush();
    }

    /// @return  received packets; for 0 the stream was flushed
    static std::size_t poll(DpdkQueue& source, PreparseStream& stream) noexcept {
        const FrameBurst burst = source.receive();
        const std::size_t packets = burst.frames.size();
        stream.take(burst.frames);
        source.release(burst);
        if (packets == 0) {
            stream.flush();
        }
        return packets;
    }

    /// The main thread's loop. @return  the signal that ended it; 0: the captures or the output
    /// ended
    int watch() {
        int signal_seen = early_signal_;
        loop_.run({.is_over = [&] { return signal_seen != 0 || has_ended() || has_lost_input(); },
                   .pause = [this] { return pause(); },
                   .act =
                       [&](std::optional<int> signal) {
                           if (signal) {
                               signal_seen = *signal;
                               SignalLoop::log_stopping(signal_seen);
                           }
                           look_at_devices_and_clock();
                           return true;
                       },
                   .without_memory = kWithoutMemory});
        return job_.captures.empty() ? 0 : signal_seen;
    }

    /// Sends the packets that came through a pipe: all of them into a capture, to a device as many
    /// as it takes in time.
    /// @return  another signal before the end; 0: none
    int finish_pipe() {
        using Clock = std::chrono::steady_clock;
        const auto end = output_ ? Clock::now() + kPipeToDevice : Clock::time_point::max();
        int signal_seen = 0;
        if (files_.cancel()) {
            loop_.run({.is_over = [&] { return has_ended() || Clock::now() >= end; },
                       .pause = [this] { return pause(); },
                       .act =
                           [&](std::optional<int> signal) {
                               signal_seen = signal.value_or(0);
                               return !signal;
                           },
                       .without_memory = kWithoutMemory});
        }
        return signal_seen;
    }
    /// Whether the captures or the output have.
    [[nodiscard]] bool has_ended() const {
        return ended_.load(std::memory_order_relaxed) || !write_failure().empty();
    }
    [[nodiscard]] std::chrono::milliseconds pause() const {
        return input_watch_ ? input_watch_->pause() : 1s;
    }

    void stop() noexcept {
        output_may_wait_.store(false, std::memory_order_relaxed);
        stop_.store(true, std::memory_order_relaxed);
        static_cast<void>(files_.cancel());
        threads_.clear();
    }

    static constexpr std::chrono::seconds kPipeToDevice{5};
    static constexpr auto kWithoutMemory = "not enough memory to look after the run, which goes on";

    MemoryReserve reserve_;  ///< of the main thread
    const PreparseJob& job_;
    const Config& config_;
    Signals& signals_;
    SignalLoop loop_{signals_, reserve_, [this] { return to_line(ledger()); }};
    PreparseInput input_;
    PreparsePlan plan_;
    CaptureFiles files_;  // opened before any output
    int early_signal_;    ///< came before the run began, and ends it; 0: none
    std::unique_ptr<Eal> eal_;
    std::vector<std::unique_ptr<PacketPool>> pools_;
    std::unique_ptr<PacketPool> head_pool_;  ///< if the NIC cuts packets
    std::unique_ptr<EthPort> input_port_;    ///< nullptr: captures
    std::optional<InputWatch> input_watch_;  ///< of the port, once it is started
    ClockWatch clock_watch_;                 ///< of live streams
    std::vector<IdleWait> idle_waits_;       ///< one per queue of input_port_
    std::unique_ptr<TransmitPort> output_;   ///< nullptr: writer_
    std::unique_ptr<CaptureWriter> writer_;
    std::unique_ptr<PacketFilter> filter_;
    std::vector<std::unique_ptr<Stream>> streams_;
    bool link_is_up_ = true;  ///< the output's
    std::atomic<bool> stop_{false};
    std::atomic<bool> ended_{false};                      ///< the captures
    std::atomic<bool> output_may_wait_;                   ///< a capture waits for its reader
    std::vector<std::unique_ptr<PinnedThread>> threads_;  ///< last: they use the rest
};

int report(const PreparseLedger& ledger, const std::string& stats_path) {
    spdlog::info("ledger: {}", to_line(ledger));
    for (const auto& [cause, count] : ledger.total().lost) {
        if (count > 0) {
            spdlog::warn("lost: {} packets: {}", count, cause);
        }
    }
    const int code = write_stats(to_json(ledger), stats_path);
    if (const std::string text = imbalance(ledger); !text.empty()) {
        spdlog::error("the ledger does not add up, which is a defect of tributary: {}", text);
        return EX_SOFTWARE;
    }
    return code;
}

}  // namespace

int run_preparse(const PreparseJob& job, const Config& config, Signals& signals) {
    protect_captures(job, config);
    const FileDescriptor stats_fifo = check_stats_path(job.stats_path);
    PreparseRun run(job, config, signals);
    const int interrupted = run.run();
    const bool all_read = interrupted != 0 || report_captures(run.files(), "sent");
    const int reported = report(run.ledger(), job.stats_path);
    if (const std::string failure = run.write_failure(); !failure.empty()) {
        spdlog::error(failure);
        return EX_IOERR;
    }
    if (interrupted != 0) {
        return 128 + interrupted;
    }
    if (run.has_lost_input()) {
        return reported == EX_OK ? EX_UNAVAILABLE : reported;
    }
    return all_read ? reported : EX_NOINPUT;
}

}  // namespace tributary
