// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/capture_dumps.hpp"

#include <sysexits.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/capture/capture_files.hpp"
#include "daemon/capture/capture_source.hpp"
#include "daemon/capture/pcapng_blocks.hpp"
#include "daemon/pipeline/frame_stages.hpp"
#include "daemon/recorder/packet_hashes.hpp"
#include "daemon/trigger/chosen_packets.hpp"
#include "daemon/trigger/flow_text.hpp"
#include "daemon/trigger/trigger_file.hpp"
#include "flowcache/input/frame_parser.hpp"

namespace tributary {
namespace {

using Json = nlohmann::ordered_json;

static_assert(PacketDump::kFlushedAtATime < TriggerFile::kMostAtATime);

/// A frame, with its fields if it is metered.
struct ReadFrame {
    const PacketView& view;
    const PacketFields* fields;
};

}  // namespace

/// One of the files that are being written.
class CaptureDumps::Output {
public:
    Output(TriggerSet::Trigger& trigger, const Job& job)
        : since(job.event.at - trigger.armed.options.before),
          until(job.event.at + trigger.armed.options.after),
          trigger_(trigger),
          job_(job) {
        file_ = std::make_unique<TriggerFile>(trigger, job.event.file);
        const TriggerPackets packets = trigger.armed.options.packets;
        if (packets != TriggerPackets::all) {
            chosen_ = std::make_unique<ChosenPackets>(job.table, packets, job.event.flow,
                                                      FlowHasher::random());
        }
        Json comment;
        for (const auto& [name, text] :
             remarks_of(job.event, trigger.armed.options, job.table.get())) {
            comment[name] = text;
        }
        blocks_.add_section("tributary", comment.dump());
        static_cast<void>(interface_of(LinkType::ethernet));
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output() = default;

    [[nodiscard]] const Job& job() const noexcept { return job_; }
    /// An errno; 0: the file could be made.
    [[nodiscard]] int error() const noexcept { return file_->error(); }
    /// As TriggerFile::has_room().
    [[nodiscard]] bool has_room() { return file_->has_room(); }
    /// @return  whether it needs more room, and cannot go on without has_room()
    [[nodiscard]] bool add(const ReadFrame& frame) {
        const bool is_wanted =
            chosen_ == nullptr ||
            (frame.fields != nullptr && chosen_->wants_metered(frame.view, *frame.fields));
        if (!is_wanted || has_ended_) {
            return false;
        }
        const std::optional<std::uint32_t> hash =
            frame.fields != nullptr ? std::optional(symmetric_rss_hash(*frame.fields))
                                    : std::nullopt;
        blocks_.add_packet(interface_of(frame.view.link_type), frame.view,
                           {.queue = 0, .rss_hash = hash});
        content_.packets += 1;
        content_.octets += frame.view.captured.size();
        if (blocks_.octets().size() < PacketDump::kFlushedAtATime) {
            return false;
        }
        flush();
        has_ended_ = !is_written_;
        return is_written_;
    }
    /// Takes no more frames, since it is as large as it may be.
    void end_early() noexcept {
        is_full_ = true;
        has_ended_ = true;
    }
    /// Removes what was written, and gives its room to others. It is to be written in another pass.
    void put_off() noexcept {
        file_.reset();
        has_ended_ = true;
    }
    [[nodiscard]] bool is_put_off() const noexcept { return file_ == nullptr; }
    void finish() {
        const Json comment{{"matched", content_.packets}, {"octets", content_.octets}};
        for (const auto& [link, interface] : interfaces_) {
            blocks_.add_statistics(interface, until, content_.packets, 0, comment.dump());
        }
        flush();
        file_->count(content_);
        file_->finish(is_written_, is_full_);
    }
    /// Counts it as not written, for this cause; it is removed.
    void suppress(TriggerCounters::Count TriggerCounters::*cause) noexcept {
        TriggerSet::suppress(trigger_, cause);
    }

    const Timestamp since;
    const Timestamp until;

private:
    [[nodiscard]] std::uint32_t interface_of(LinkType link) {
        const auto found = interfaces_.find(link);
        return found != interfaces_.end()
                   ? found->second
                   : interfaces_.emplace(link, blocks_.add_interface(link, "read")).first->second;
    }
    void flush() {
        is_written_ = is_written_ && file_->error() == 0 && file_->write(blocks_.octets());
        blocks_.clear();
    }

    TriggerSet::Trigger& trigger_;
    Job job_;
    std::unique_ptr<TriggerFile> file_;      ///< nullptr: it is put off
    std::unique_ptr<ChosenPackets> chosen_;  ///< nullptr: all packets are wanted
    PcapngBlocks blocks_;
    std::map<LinkType, std::uint32_t> interfaces_;
    TriggerFile::Content content_;
    bool is_written_ = true;
    bool is_full_ = false;
    bool has_ended_ = false;
};

/// The files of one pass over the captures, in the order of their numbers. Where a trigger has no
/// room for all of its files at a time, the latest ones are put off: each file is as large as if it
/// were written alone.
class CaptureDumps::Outputs {
public:
    [[nodiscard]] std::span<const std::unique_ptr<Output>> all() const noexcept { return all_; }
    /// Whether another file of a trigger is for a later pass.
    [[nodiscard]] bool is_full(std::size_t trigger) const {
        return all_.size() == kMostAtATime || full_.contains(trigger);
    }
    /// @return  false: it has no room beside the others of its trigger
    [[nodiscard]] bool add(std::unique_ptr<Output> output) {
        if (output->error() == 0 && !output->has_room()) {
            const std::size_t trigger = output->job().event.trigger;
            if (!of(trigger).empty()) {
                full_.insert(trigger);
                return false;
            }
            output->suppress(&TriggerCounters::by_busy);  // former files cannot be removed
            return true;
        }
        all_.push_back(std::move(output));
        return true;
    }
    /// Gives an output more room, for which the latest ones of its trigger are put off, or itself.
    /// If it is alone, and there is none, it ends.
    void make_room(Output& output) const {
        while (!output.has_room()) {
            const std::vector<Output*> rivals = of(output.job().event.trigger);
            if (rivals.size() == 1) {
                output.end_early();
                return;
            }
            rivals.back()->put_off();
            if (rivals.back() == &output) {
                return;
            }
        }
    }

private:
    /// The outputs of a trigger that are not put off.
    [[nodiscard]] std::vector<Output*> of(std::size_t trigger) const {
        std::vector<Output*> those;
        for (const auto& output : all_) {
            if (output->job().event.trigger == trigger && !output->is_put_off()) {
                those.push_back(output.get());
            }
        }
        return those;
    }

    std::vector<std::unique_ptr<Output>> all_;
    std::set<std::size_t> full_;  ///< triggers
};

/// Which files are for which time: between two of the times at which files begin and end, it is the
/// same ones. Frames may come in any order of their times.
class CaptureDumps::Spans {
public:
    explicit Spans(const Outputs& outputs) : outputs_(outputs) {
        for (const auto& output : outputs.all()) {
            begins_[output->since];
            begins_[output->until + Timestamp::duration{1}];
        }
        for (auto& [begin, of_time] : begins_) {
            of_time = those_at(begin, outputs.all());
        }
    }

    /// Adds a frame to those files that want packets of its time.
    void add(const PacketView& frame, FrameParser& parser) const {
        PacketFields fields;
        const bool is_metered = parser.parse(frame, fields) == ParseStatus::ok;
        for (Output* const output : at(frame.seen_at)) {
            if (output->add({frame, is_metered ? &fields : nullptr})) {
                outputs_.make_room(*output);
            }
        }
    }

private:
    [[nodiscard]] static std::vector<Output*> those_at(
        Timestamp time, std::span<const std::unique_ptr<Output>> outputs) {
        std::vector<Output*> those;
        for (const auto& output : outputs) {
            if (output->since <= time && time <= output->until) {
                those.push_back(output.get());
            }
        }
        return those;
    }
    [[nodiscard]] std::span<Output* const> at(Timestamp time) const {
        const auto behind = begins_.upper_bound(time);
        return behind == begins_.begin() ? std::span<Output* const>()
                                         : std::span<Output* const>(std::prev(behind)->second);
    }

    const Outputs& outputs_;
    std::map<Timestamp, std::vector<Output*>> begins_;
};

CaptureDumps::CaptureDumps(Parts parts) : parts_(std::move(parts)) {
    for (const std::string& path : parts_.captures) {
        std::error_code error;
        if (std::filesystem::exists(path, error) &&
            !std::filesystem::is_regular_file(path, error)) {
            throw StartupError(EX_USAGE, "triggers read captures twice, and " + path +
                                             " is no regular file: leave triggers out, or write "
                                             "the packets to a file first");
        }
    }
    thread_ = HelperThread({.name = "triggers"}, [this](auto&) { collect(); });
}

/// Takes the events of all caches, until all input threads have ended.
void CaptureDumps::collect() {
    constexpr std::chrono::milliseconds kPause{2};
    for (bool is_last = false; !is_last;) {
        is_last = is_stopping_.load(std::memory_order_acquire);
        parts_.set.take_events([this](const TriggerEvent& event, const auto& table) {
            keep({event, table});
        });
        if (!is_last) {
            std::this_thread::sleep_for(kPause);
        }
    }
}

/// Keeps a job until write() reads the captures once more.
void CaptureDumps::keep(const Job& job) noexcept {
    try {
        jobs_.push_back(job);
    } catch (const std::bad_alloc&) {
        TriggerSet::suppress(parts_.set.at(job.event.trigger), &TriggerCounters::by_busy);
    }
}

void CaptureDumps::stop() noexcept {
    is_stopping_.store(true, std::memory_order_release);  // pairs with collect()
    thread_.join();
}

void CaptureDumps::give_up() noexcept {
    stop();
    suppress(jobs_);
    jobs_.clear();
}

/// Counts files that are not written because the run ends.
void CaptureDumps::suppress(std::span<const Job> jobs) noexcept {
    for (const Job& job : jobs) {
        TriggerSet::suppress(parts_.set.at(job.event.trigger), &TriggerCounters::by_end);
    }
}

void CaptureDumps::write() {
    stop();
    std::ranges::sort(jobs_, {}, [](const Job& job) { return job.event.file; });
    while (!jobs_.empty() && !parts_.is_interrupted()) {
        write_some();
    }
    suppress(jobs_);
    jobs_.clear();
}

/// Begins the file of a job.
///
/// @return  false: it is for a later pass
bool CaptureDumps::begin(const Job& job, Outputs& outputs) {
    if (outputs.is_full(job.event.trigger)) {
        return false;
    }
    TriggerSet::Trigger& trigger = parts_.set.at(job.event.trigger);
    try {
        return outputs.add(std::make_unique<Output>(trigger, job));
    } catch (const std::exception& error) {
        spdlog::error("trigger {}: file {}: {}", trigger.armed.options.name, job.event.file,
                      error.what());
        TriggerSet::suppress(trigger, &TriggerCounters::by_write_failure);
        return true;
    }
}

/// Writes files in one pass over the captures. Jobs for which there is no room in it stay.
void CaptureDumps::write_some() {
    Outputs outputs;
    std::vector<Job> left;
    for (const Job& job : jobs_) {
        if (!begin(job, outputs)) {
            left.push_back(job);
        }
    }
    const ReadEnd end = read_captures(Spans(outputs));
    for (const std::unique_ptr<Output>& output : outputs.all()) {
        if (output->is_put_off()) {
            left.push_back(output->job());
        } else if (end == ReadEnd::all_was_read) {
            output->finish();
        } else {
            output->suppress(end == ReadEnd::interrupted ? &TriggerCounters::by_end
                                                         : &TriggerCounters::by_write_failure);
        }
    }
    std::ranges::sort(left, {}, [](const Job& job) { return job.event.file; });
    jobs_ = std::move(left);
}

/// Reads the captures as they were metered, by one thread, and gives each frame to its files.
CaptureDumps::ReadEnd CaptureDumps::read_captures(const Spans& spans) {
    CaptureFiles files(parts_.captures, 1);
    CaptureCounters counters;
    InputCounters input_counters;
    CaptureSource source(files, counters, parts_.interface);
    FrameStages stages(parts_.flows, SamplingOptions{}, parts_.filter, FragmentTable::kMostSets);
    FrameParser parser(stages.parts(parts_.parse), input_counters);
    while (!source.exhausted()) {
        if (parts_.is_interrupted()) {
            return ReadEnd::interrupted;
        }
        FrameBurst burst = source.receive();
        const PacketMask chosen = parser.choose(burst);
        for (PacketMask left = chosen; left != 0; left &= left - 1) {
            spans.add(burst.frames[static_cast<std::size_t>(std::countr_zero(left))], parser);
        }
        source.release(burst);
    }
    if (const auto failure = files.failure()) {
        spdlog::error("triggers: {} could not be read once more: {}", failure->path,
                      failure->reason);
        return ReadEnd::failed;
    }
    return ReadEnd::all_was_read;
}

}  // namespace tributary
