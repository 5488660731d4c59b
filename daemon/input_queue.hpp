// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "daemon/numa_memory.hpp"
#include "daemon/record_ring.hpp"
#include "flowcache/flow_cache.hpp"
#include "flowcache/input_worker.hpp"

namespace tributary {

/// What a queue is built from, beside its source.
struct QueueParts {
    FlowCacheOptions flows;
    RecordLayout layout;
    std::uint32_t ring_slots = 1U << 15U;
    std::optional<unsigned> numa_node;  ///< where cache and ring live
    PageUse pages = PageUse::live;
    WhenRingFull when_ring_full = WhenRingFull::refuse;
};

/// One queue with everything that is private to it: worker, cache and ring. The record size is
/// hidden behind virtual calls, one per burst.
class InputQueue {
public:
    InputQueue() = default;
    InputQueue(const InputQueue&) = delete;
    InputQueue& operator=(const InputQueue&) = delete;
    virtual ~InputQueue() = default;

    /// @thread  the queue's input thread
    virtual std::size_t step() noexcept = 0;
    /// Whether the source has come to its end; a NIC never does.
    /// @thread  the queue's input thread
    [[nodiscard]] virtual bool ended() const noexcept = 0;
    /// @thread  the queue's input thread, after its last step()
    [[nodiscard]] virtual bool drain() noexcept = 0;
    /// @thread  the export thread drains it
    [[nodiscard]] virtual RecordSource& records() noexcept = 0;
    /// Whether the cache got explicit huge pages.
    [[nodiscard]] virtual bool huge_pages() const noexcept = 0;

    InputCounters counters;
    PublishedClock clock;
};

template <std::size_t kRecordBytes, PacketSource Source>
class SizedInputQueue final : public InputQueue {
public:
    SizedInputQueue(Source& source, const QueueParts& parts, FlowHasher hasher)
        : source_(source),
          memory_(Cache::bytes_needed(parts.flows), parts.numa_node, parts.pages),
          ring_(parts.ring_slots, parts.numa_node, parts.pages),
          sink_(ring_, parts.when_ring_full),
          cache_(parts.flows, parts.layout, hasher, memory_.bytes(), counters.cache),
          worker_(source, cache_, sink_, counters, clock) {}

    std::size_t step() noexcept override { return worker_.step(); }
    [[nodiscard]] bool ended() const noexcept override {
        if constexpr (requires { source_.exhausted(); }) {
            return source_.exhausted();
        } else {
            return false;
        }
    }
    [[nodiscard]] bool drain() noexcept override { return worker_.drain(); }
    [[nodiscard]] RecordSource& records() noexcept override { return ring_; }
    [[nodiscard]] bool huge_pages() const noexcept override { return memory_.huge_pages(); }

private:
    using Cache = FlowCache<kRecordBytes>;

    Source& source_;
    NumaMemory memory_;
    RecordRing<kRecordBytes> ring_;
    RingSink<kRecordBytes> sink_;
    Cache cache_;
    InputWorker<Source, Cache, RingSink<kRecordBytes>> worker_;
};

/// Builds the queue whose record size holds `parts.layout`.
///
/// @param source  outlives the queue
/// @errors        std::bad_alloc
template <PacketSource Source, std::size_t kSize = 0>
[[nodiscard]] std::unique_ptr<InputQueue> make_input_queue(Source& source, const QueueParts& parts,
                                                           FlowHasher hasher) {
    if constexpr (kSize + 1 < kRecordSizes.size()) {
        if (parts.layout.bytes > kRecordSizes[kSize]) {
            return make_input_queue<Source, kSize + 1>(source, parts, hasher);
        }
    }
    return std::make_unique<SizedInputQueue<kRecordSizes[kSize], Source>>(source, parts, hasher);
}

}  // namespace tributary
