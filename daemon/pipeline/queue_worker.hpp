// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/pipeline/mailbox.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "daemon/pipeline/stage_check.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/kept_packet.hpp"
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
    std::string name{};  ///< for messages, such as "uplink/0"
};

/// One queue with its private worker, cache and ring. Virtual calls, one per burst, hide the record
/// size.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the mailbox is aligned to a cache line
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

    /// Calls these stages from the next step() on, and destroys the former. While the input thread
    /// runs, Pipeline::set_stages() does it instead.
    ///
    /// @errors  as of prepare(); the former stages stay
    /// @thread  main, before the first step() and between steps
    virtual void call_stages(StageList stages) = 0;
    /// The command with which the input thread calls these stages. Where they are the first that
    /// need flows, the memory for that is made.
    ///
    /// @errors  StartupError(78): as check_stages(); MemoryShortage; std::bad_alloc
    /// @thread  main
    [[nodiscard]] virtual SetStages prepare(const StageList& stages) = 0;
    /// The packets that stages keep; nullptr: none can be kept.
    /// @thread  any
    [[nodiscard]] virtual const KeptBuffers* kept() const noexcept = 0;

    CacheCounters cache_counters;
    PublishedClock clock;
    InputMailbox mailbox;
    /// The stages that the input thread may call. More than one list only while a change is not
    /// confirmed. Of the main thread, which makes and destroys them.
    std::vector<StageList> stage_lists;
};

/// The memory of such a queue's cache and ring, in octets each. Stages that need flows add that of
/// `flow_holders`, which is in it if it is set.
/// @thread  any; pure
[[nodiscard]] std::array<std::size_t, 2> queue_memory(const QueueParts& parts) noexcept;

/// Builds a queue with the record size that holds `parts.layout`. Its flows can be held if one of
/// the stages needs flows, or `flow_holders` is set.
///
/// @param reader  outlives the worker
/// @param stages  called from the first burst on
/// @errors        std::bad_alloc, also MemoryShortage; StartupError(78): as check_stages()
[[nodiscard]] std::unique_ptr<QueueWorker> make_queue_worker(PacketReader& reader,
                                                             const QueueParts& parts,
                                                             FlowHasher hasher,
                                                             StageList stages = {});

}  // namespace tributary
