// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_queue.hpp"

#include <optional>
#include <utility>

#include "daemon/pipeline/record_ring.hpp"
#include "flowcache/flow_cache.hpp"
#include "flowcache/keyed_burst.hpp"
#include "flowcache/record/with_record_size.hpp"

namespace tributary {
namespace {

template <std::size_t kRecordBytes>
class SizedTableQueue final : public TableQueue {
public:
    SizedTableQueue(const TableQueueParts& parts, FlowHasher hasher)
        : table_(parts.table.compiled()),
          filters_(parts.filters),
          memory_(Cache::bytes_needed(parts.table.options()), parts.numa_node, parts.pages),
          ring_(parts.table.layout(), parts.ring_slots, parts.numa_node, parts.pages,
                parts.table.index()),
          sink_(ring_, parts.when_ring_full),
          cache_(parts.table.options(), parts.table.layout(), hasher, memory_.bytes(),
                 counters.cache),
          keyed_(cache_.burst()) {}

    void account(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept override {
        keyed_.clear();
        if (!packets.empty()) {
            choose(burst, packets);
        }
        const std::span<KeyedPacket> matching = keyed_.finish();
        if (is_rescheduling_) [[unlikely]] {
            is_rescheduling_ = !rescheduling_.schedule_some(cache_, kRescheduledAtATime);
        }
        counters.matched.add(matching.size());
        cache_.account(matching, sink_);
        cache_.expire_some(burst.now, kExpiryBudget, sink_);
        sink_.hand_over();
    }
    [[nodiscard]] bool has_work() noexcept override {
        const std::uint64_t ended = counters.cache.read_ended();
        const bool has_ended = std::exchange(ended_, ended) != ended;
        return has_ended || is_rescheduling_ || cache_.has_waiting() || sink_.has_waiting();
    }
    [[nodiscard]] bool drain(Timestamp now) noexcept override {
        return cache_.end_all(now, sink_) && sink_.hand_over();
    }
    [[nodiscard]] bool end_some(CacheScan& scan, std::size_t most,
                                Timestamp now) noexcept override {
        return scan.end_some(cache_, most, now, sink_);
    }
    [[nodiscard]] bool copy_some(CacheScan& scan, std::size_t most,
                                 RecordCopies& copies) noexcept override {
        return scan.copy_some(cache_, most, [&](const auto& record) { return copies.add(record); });
    }
    void set_timeouts(const Timeouts& timeouts) noexcept override {
        cache_.set_timeouts(timeouts);
        rescheduling_ = {};
        is_rescheduling_ = true;
    }
    [[nodiscard]] RecordSource& records() noexcept override { return ring_; }
    [[nodiscard]] RingFill ring() const noexcept override { return ring_.fill(); }
    [[nodiscard]] bool huge_pages() const noexcept override { return memory_.huge_pages(); }

private:
    using Cache = FlowCache<kRecordBytes>;
    /// Entries that a change of timeouts visits beside a burst, at a few dozen nanoseconds each.
    static constexpr std::size_t kRescheduledAtATime = 8;

    /// The frames that pass all filters; nothing: one of them cannot decide yet.
    [[nodiscard]] std::optional<PacketMask> passed_frames(const FrameBurst& burst) const noexcept {
        PacketMask passed = mask_of_all(burst.frames);
        if (filters_ == nullptr) {
            return passed;
        }
        for (const FilterSlot& slot : *filters_) {
            PacketSelector* const filter = slot.get();
            if (filter == nullptr || !filter->is_ready()) [[unlikely]] {
                return std::nullopt;
            }
            passed &= filter->select(burst.frames);
        }
        return passed;
    }
    /// Adds the packets that match to the burst of the table's own.
    void choose(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept {
        const std::optional<PacketMask> passed = passed_frames(burst);
        if (!passed) [[unlikely]] {
            counters.filter_not_ready.add(packets.size());
            return;
        }
        const bool has_own = table_.has_own_fields();
        std::uint64_t filtered = 0;
        std::uint64_t without_field = 0;
        for (const KeyedPacket& packet : packets) {
            if ((*passed & mask_of(burst.index_of(*packet.packet))) == 0) {
                ++filtered;
            } else if (has_own && !table_.has_fields(*packet.packet, *packet.fields)) {
                ++without_field;
            } else {
                keyed_.add(*packet.packet, *packet.fields);
            }
        }
        counters.filtered.add(filtered);
        counters.without_field.add(without_field);
    }

    const CompiledTable& table_;
    const std::deque<FilterSlot>* filters_;
    NumaMemory memory_;
    RecordRing<kRecordBytes> ring_;
    RingSink<kRecordBytes> sink_;
    Cache cache_;
    KeyedBurst keyed_;
    std::uint64_t ended_ = 0;  ///< flows, at the last has_work()
    CacheScan rescheduling_;   ///< after a change of timeouts
    bool is_rescheduling_ = false;
};

}  // namespace

std::array<std::size_t, 2> table_memory(const TableQueueParts& parts) noexcept {
    return with_record_size(parts.table.layout(), [&](auto size) {
        return std::array{FlowCache<size()>::bytes_needed(parts.table.options()),
                          RecordRing<size()>::bytes_needed(parts.ring_slots)};
    });
}

std::unique_ptr<TableQueue> make_table_queue(const TableQueueParts& parts, FlowHasher hasher) {
    return with_record_size(parts.table.layout(), [&](auto size) -> std::unique_ptr<TableQueue> {
        return std::make_unique<SizedTableQueue<size()>>(parts, hasher);
    });
}

}  // namespace tributary
