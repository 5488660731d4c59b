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

/// The parts of a queue beside its reader.
struct QueueParts {
    FlowCacheOptions flows;
    RecordLayout layout;
    std::uint32_t ring_slots = 1U << 15U;
    std::optional<unsigned> numa_node{};  ///< of cache and ring
    PageUse pages = PageUse::live;
    WhenRingFull when_ring_full = WhenRingFull::refuse;
};

/// One queue with its private worker, cache and ring. Virtual calls, one per burst, hide the record
/// size.
class QueueWorker {
public:
    QueueWorker() = default;
    QueueWorker(const QueueWorker&) = delete;
    QueueWorker& operator=(const QueueWorker&) = delete;
    virtual ~QueueWorker() = default;

    /// Meters one burst; before it, carries out a part of the waiting command, if any.
    /// @thread  the queue's input thread
    virtual std::size_t step() noexcept = 0;
    /// Whether step() has left packets of the source's last burst for the next step().
    /// @thread  the queue's input thread
    [[nodiscard]] virtual bool holds_packets() const noexcept = 0;
    /// Whether the next step() should come at once even without packets: for a command, or for
    /// flows that end. Call it once after each step().
    /// @thread  the queue's input thread
    [[nodiscard]] virtual bool has_work() noexcept = 0;
    /// Whether the source has ended; a NIC never does.
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

/// The memory of such a queue's cache and ring, in octets each.
/// @thread  any; pure
[[nodiscard]] std::array<std::size_t, 2> queue_memory(const QueueParts& parts) noexcept;

/// Builds a queue with the record size that holds `parts.layout`.
///
/// @param reader  outlives the worker
/// @errors      std::bad_alloc
[[nodiscard]] std::unique_ptr<QueueWorker> make_queue_worker(PacketReader& reader,
                                                             const QueueParts& parts,
                                                             FlowHasher hasher);

}  // namespace tributary
