// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_queue.hpp"

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
          filter_(parts.filter),
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
        counters.matched.add(matching.size());
        cache_.account(matching, sink_);
        cache_.expire_some(burst.now, kExpiryBudget, sink_);
        sink_.hand_over();
    }
    [[nodiscard]] bool has_work() noexcept override {
        const std::uint64_t ended = counters.cache.read_ended();
        const bool has_ended = std::exchange(ended_, ended) != ended;
        return has_ended || cache_.has_waiting() || sink_.has_waiting();
    }
    [[nodiscard]] bool drain(Timestamp now) noexcept override {
        return cache_.end_all(now, sink_) && sink_.hand_over();
    }
    [[nodiscard]] RecordSource& records() noexcept override { return ring_; }
    [[nodiscard]] RingFill ring() const noexcept override { return ring_.fill(); }
    [[nodiscard]] bool huge_pages() const noexcept override { return memory_.huge_pages(); }

private:
    using Cache = FlowCache<kRecordBytes>;

    /// Adds the packets that match to the burst of the table's own.
    void choose(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept {
        if (filter_ != nullptr && !filter_->is_ready()) [[unlikely]] {
            counters.filter_not_ready.add(packets.size());
            return;
        }
        const PacketMask passed =
            filter_ == nullptr ? mask_of_all(burst.frames) : filter_->select(burst.frames);
        const bool has_own = table_.has_own_fields();
        std::uint64_t filtered = 0;
        std::uint64_t without_field = 0;
        for (const KeyedPacket& packet : packets) {
            if ((passed & mask_of(burst.index_of(*packet.packet))) == 0) {
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
    PacketSelector* filter_;
    NumaMemory memory_;
    RecordRing<kRecordBytes> ring_;
    RingSink<kRecordBytes> sink_;
    Cache cache_;
    KeyedBurst keyed_;
    std::uint64_t ended_ = 0;  ///< flows, at the last has_work()
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
