// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/queue_worker.hpp"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "daemon/pipeline/record_ring.hpp"
#include "flowcache/flow_cache.hpp"
#include "flowcache/record/with_record_size.hpp"

namespace tributary {
namespace {

template <std::size_t kRecordBytes>
class SizedQueueWorker final : public QueueWorker {
public:
    SizedQueueWorker(PacketReader& reader, const QueueParts& parts, FlowHasher hasher)
        : reader_(reader),
          memory_(Cache::bytes_needed(parts.flows), parts.numa_node, parts.pages),
          ring_(parts.layout, parts.ring_slots, parts.numa_node, parts.pages),
          sink_(ring_, parts.when_ring_full),
          cache_(parts.flows, parts.layout, hasher, memory_.bytes(), cache_counters),
          loop_(reader, cache_, sink_, clock),
          parts_(parts) {}

    /// Where a later step of the start fails, no drain() comes.
    ~SizedQueueWorker() override { loop_.detach_all(); }

    void call_stages(StageList stages) override {
        const SetStages command = prepare(stages);
        stage_lists.push_back(std::move(stages));
        while (!set_stages(command)) {
        }
        stage_lists.erase(stage_lists.begin(), std::prev(stage_lists.end()));
    }
    [[nodiscard]] SetStages prepare(const StageList& stages) override {
        check_stages(stages, stage_room());
        const bool lacks_memory =
            stages.need_flows() > 0 && !parts_.flows.flow_holders && !holder_memory_;
        if (lacks_memory) {
            holder_memory_.emplace(Cache::holder_bytes_needed(parts_.flows), parts_.numa_node,
                                   parts_.pages);
        }
        return {.stages = stages.stages(),
                .holder_memory = holder_memory_ ? holder_memory_->bytes() : std::span<std::byte>{}};
    }

    std::size_t step() noexcept override {
        InputCommand* const command = mailbox.current();
        if (command != nullptr) [[unlikely]] {
            carry_out(*command);
        }
        if (is_rescheduling_) [[unlikely]] {
            is_rescheduling_ = !rescheduling_.schedule_some(cache_, entries_at_a_time());
        }
        last_received_ = loop_.step();
        sink_.hand_over();
        return last_received_;
    }
    [[nodiscard]] bool holds_packets() const noexcept override { return reader_.holds_packets(); }
    [[nodiscard]] bool has_work() noexcept override {
        // Deadlines cluster: after one flow has ended, more may be due.
        const std::uint64_t ended = cache_counters.read_ended();
        const bool has_ended = std::exchange(ended_, ended) != ended;
        const bool holds_records =
            cache_.has_waiting() || sink_.has_waiting() || loop_.stages_have_work();
        return has_ended || is_rescheduling_ || holds_records || !mailbox.is_done();
    }
    [[nodiscard]] bool ended() const noexcept override { return reader_.ended(); }
    [[nodiscard]] bool drain() noexcept override { return loop_.drain() && sink_.hand_over(); }
    [[nodiscard]] RecordSource& records() noexcept override { return ring_; }
    [[nodiscard]] RingFill ring() const noexcept override { return ring_.fill(); }
    [[nodiscard]] bool huge_pages() const noexcept override { return memory_.huge_pages(); }
    [[nodiscard]] const InputCounters& input_counters() const noexcept override {
        return reader_.counters();
    }
    [[nodiscard]] const KeptBuffers* kept() const noexcept override { return reader_.kept(); }

private:
    using Cache = FlowCache<kRecordBytes>;

    [[nodiscard]] StageRoom stage_room() const {
        return {.queue = parts_.name,
                .has_octets = reader_.has_octets(),
                .kept = reader_.kept() == nullptr ? 0 : reader_.kept()->most()};
    }
    /// @return  false: as of MeterLoop::set_stages()
    [[nodiscard]] bool set_stages(const SetStages& command) noexcept {
        if (!command.holder_memory.empty()) {
            cache_.allow_holders(command.holder_memory);
        }
        return loop_.set_stages(command.stages);
    }
    /// Entries that a command may visit before a burst, at a few dozen nanoseconds each. Beside the
    /// hundreds of nanoseconds of a burst that is little; after an empty poll there is time for
    /// more.
    [[nodiscard]] std::size_t entries_at_a_time() const noexcept {
        constexpr std::size_t kBesideBursts = 8;
        constexpr std::size_t kBetweenEmptyPolls = 64;
        return last_received_ > 0 ? kBesideBursts : kBetweenEmptyPolls;
    }

    void carry_out(InputCommand& command) noexcept {
        if (auto* const timeouts = std::get_if<SetTimeouts>(&command)) {
            carry_out(*timeouts);
        } else if (auto* const filter = std::get_if<SetFilter>(&command)) {
            carry_out(*filter);
        } else if (auto* const stages = std::get_if<SetStages>(&command)) {
            carry_out(*stages);
        } else if (auto* const end = std::get_if<EndFlows>(&command)) {
            carry_out(*end);
        } else if (auto* const copy = std::get_if<CopyFlows>(&command)) {
            carry_out(*copy);
        }
    }
    void carry_out(SetTimeouts& command) noexcept {
        if (command.table != nullptr) {
            command.table->set_timeouts(command.timeouts);
        } else {
            cache_.set_timeouts(command.timeouts);
            rescheduling_ = {};
            is_rescheduling_ = true;
        }
        mailbox.finish();
    }
    void carry_out(SetFilter& command) noexcept {
        reader_.set_filter(command.filter);
        mailbox.finish();
    }
    void carry_out(SetStages& command) noexcept {
        if (set_stages(command)) {
            mailbox.finish();
        }
    }
    void carry_out(EndFlows& command) noexcept {
        const std::size_t most = entries_at_a_time();
        command.is_through = command.table != nullptr
                                 ? command.table->end_some(command.scan, most, clock.read())
                                 : command.scan.end_some(cache_, most, clock.read(), sink_);
        finish_part(command.is_through);
    }
    void carry_out(CopyFlows& command) noexcept {
        const std::size_t most = entries_at_a_time();
        RecordCopies copies{
            .at = command.copies.get(), .room = command.room, .records = command.records};
        command.is_through = command.table != nullptr
                                 ? command.table->copy_some(command.scan, most, copies)
                                 : command.scan.copy_some(cache_, most, [&](const auto& record) {
                                       return copies.add(record);
                                   });
        command.records = copies.records;
        finish_part(command.is_through || copies.is_full);
    }
    /// Returns the command after so many steps: the sender sees that the thread lives, and decides
    /// whether to go on.
    void finish_part(bool is_finished) noexcept {
        constexpr int kStepsOfAPart = 256;
        ++steps_of_part_;
        if (is_finished || steps_of_part_ == kStepsOfAPart) {
            steps_of_part_ = 0;
            mailbox.finish();
        }
    }

    PacketReader& reader_;
    NumaMemory memory_;
    std::optional<NumaMemory> holder_memory_;  ///< where flows can be held since a reload
    RecordRing<kRecordBytes> ring_;
    RingSink<kRecordBytes> sink_;
    Cache cache_;
    MeterLoop<Cache, RingSink<kRecordBytes>> loop_;
    const QueueParts parts_;
    int steps_of_part_ = 0;          ///< of the present command
    std::size_t last_received_ = 0;  ///< packets of the last burst
    std::uint64_t ended_ = 0;        ///< flows, at the last has_work()
    CacheScan rescheduling_;         ///< after a change of timeouts
    bool is_rescheduling_ = false;
};

}  // namespace

std::array<std::size_t, 2> queue_memory(const QueueParts& parts) noexcept {
    return with_record_size(parts.layout, [&](auto size) {
        return std::array{FlowCache<size()>::bytes_needed(parts.flows),
                          RecordRing<size()>::bytes_needed(parts.ring_slots)};
    });
}

std::unique_ptr<QueueWorker> make_queue_worker(PacketReader& reader, const QueueParts& parts,
                                               FlowHasher hasher, StageList stages) {
    QueueParts with_stages = parts;
    with_stages.flows.flow_holders = parts.flows.flow_holders || stages.need_flows() > 0;
    std::unique_ptr<QueueWorker> worker =
        with_record_size(parts.layout, [&](auto size) -> std::unique_ptr<QueueWorker> {
            return std::make_unique<SizedQueueWorker<size()>>(reader, with_stages, hasher);
        });
    worker->call_stages(std::move(stages));
    return worker;
}

}  // namespace tributary
