// SPDX-License-Identifier: Apache-2.0
#include "daemon/input_queue.hpp"

#include <type_traits>

#include "flowcache/flow_cache.hpp"

namespace tributary {
namespace {

template <std::size_t kRecordBytes>
class SizedInputQueue final : public InputQueue {
public:
    SizedInputQueue(InputPath& path, const QueueParts& parts, FlowHasher hasher)
        : path_(path),
          memory_(Cache::bytes_needed(parts.flows), parts.numa_node, parts.pages),
          ring_(parts.ring_slots, parts.numa_node, parts.pages),
          sink_(ring_, parts.when_ring_full),
          cache_(parts.flows, parts.layout, hasher, memory_.bytes(), cache_counters),
          worker_(path, cache_, sink_, clock) {}

    std::size_t step() noexcept override { return worker_.step(); }
    [[nodiscard]] bool holds_packets() const noexcept override { return path_.holds_packets(); }
    [[nodiscard]] bool ended() const noexcept override { return path_.ended(); }
    [[nodiscard]] bool drain() noexcept override { return worker_.drain(); }
    [[nodiscard]] RecordSource& records() noexcept override { return ring_; }
    [[nodiscard]] RingFill ring() const noexcept override { return ring_.fill(); }
    [[nodiscard]] bool huge_pages() const noexcept override { return memory_.huge_pages(); }
    [[nodiscard]] const InputCounters& input_counters() const noexcept override {
        return path_.counters();
    }

private:
    using Cache = FlowCache<kRecordBytes>;

    InputPath& path_;
    NumaMemory memory_;
    RecordRing<kRecordBytes> ring_;
    RingSink<kRecordBytes> sink_;
    Cache cache_;
    InputWorker<Cache, RingSink<kRecordBytes>> worker_;
};

/// Calls `use` with the size of record, as a constant, that holds the layout.
template <std::size_t kSize = 0, class Use>
auto with_record_size(const RecordLayout& layout, Use use) {
    if constexpr (kSize + 1 < kRecordSizes.size()) {
        if (layout.bytes > kRecordSizes[kSize]) {
            return with_record_size<kSize + 1>(layout, use);
        }
    }
    return use(std::integral_constant<std::size_t, kRecordSizes[kSize]>{});
}

}  // namespace

std::array<std::size_t, 2> queue_memory(const QueueParts& parts) noexcept {
    return with_record_size(parts.layout, [&](auto size) {
        return std::array{FlowCache<size()>::bytes_needed(parts.flows),
                          RecordRing<size()>::bytes_needed(parts.ring_slots)};
    });
}

std::unique_ptr<InputQueue> make_input_queue(InputPath& path, const QueueParts& parts,
                                             FlowHasher hasher) {
    return with_record_size(parts.layout, [&](auto size) -> std::unique_ptr<InputQueue> {
        return std::make_unique<SizedInputQueue<size()>>(path, parts, hasher);
    });
}

}  // namespace tributary
