// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/pipeline/mailbox.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "flowcache/input/meter_loop.hpp"
#include "flowcache/input/packet_reader.hpp"
#include "flowcache/record/cache_counters.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/record_stream.hpp"

namespace tributary {

/// What a queue is built from, beside its input path.
struct QueueParts {
    FlowCacheOptions flows;
    RecordLayout layout;
    std::uint32_t ring_slots = 1U << 15U;
    std::optional<unsigned> numa_node{};  ///< where cache and ring live
    PageUse pages = PageUse::live;
    WhenRingFull when_ring_full = WhenRingFull::refuse;
};

/// One queue with everything that is private to it: worker, cache and ring. The record size is
/// hidden behind virtual calls, one per burst.
class QueueWorker {
public:
    QueueWorker() = default;
    QueueWorker(const QueueWorker&) = delete;
    QueueWorker& operator=(const QueueWorker&) = delete;
    virtual ~QueueWorker() = default;

    /// A burst, and before it a part of the command that waits, if one does.
    /// @thread  the queue's input thread
    virtual std::size_t step() noexcept = 0;
    /// Whether step() has left packets of the source's last burst to the next one.
    /// @thread  the queue's input thread
    [[nodiscard]] virtual bool holds_packets() const noexcept = 0;
    /// Whether something beside packets is left to do, so that the next step() should not wait: an
    /// command, or flows that end. To be asked once after each step().
    /// @thread  the queue's input thread
    [[nodiscard]] virtual bool has_work() noexcept = 0;
    /// Whether the source has come to its end; a NIC never does.
    /// @thread  the queue's input thread
    [[nodiscard]] virtual bool ended() const noexcept = 0;
    /// @thread  the queue's input thread, after its last step()
    [[nodiscard]] virtual bool drain() noexcept = 0;
    /// @thread  the export thread drains it
    [[nodiscard]] virtual RecordSource& records() noexcept = 0;
    /// @thread  any
    [[nodiscard]] virtual RingFill ring() const noexcept = 0;
    /// Whether the cache got explicit huge pages.
    [[nodiscard]] virtual bool huge_pages() const noexcept = 0;

    /// @thread  any
    [[nodiscard]] virtual const InputCounters& input_counters() const noexcept = 0;

    CacheCounters cache_counters;
    PublishedClock clock;
    InputMailbox mailbox;
};

/// What cache and ring of such a queue take, in octets each.
/// @thread  any; pure
[[nodiscard]] std::array<std::size_t, 2> queue_memory(const QueueParts& parts) noexcept;

/// Builds the queue whose record size holds `parts.layout`.
///
/// @param path  outlives the queue
/// @errors      std::bad_alloc
[[nodiscard]] std::unique_ptr<QueueWorker> make_queue_worker(PacketReader& path,
                                                             const QueueParts& parts,
                                                             FlowHasher hasher);

}  // namespace tributary
