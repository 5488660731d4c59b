// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "daemon/pipeline/table_flows.hpp"
#include "daemon/table/declared_table.hpp"
#include "flowcache/input/filter_slot.hpp"
#include "flowcache/input/flow_watcher.hpp"
#include "flowcache/input/frame_burst.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/cache_counters.hpp"
#include "flowcache/record/counter.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/record_stream.hpp"
#include "parsers/packet.hpp"

namespace tributary {

class TableExchange;

/// What becomes of the metered packets of one queue in one table. Written by the input thread, read
/// by any.
///
///     metered = filtered + filter_not_ready + without_field + matched
///     matched = in records + refused_ring_full + refused_owner_ended
///                                              of all queues together, with `spread: key`
///
/// With `spread: key` records and refused_owner_ended are of the keys that the queue owns,
/// whichever queue the packets came to; the other counters are of its own packets.
struct TableCounters {
    Counter metered;           ///< accounted in the main table since this one began
    Counter filtered;          ///< a filter of the table left them out
    Counter filter_not_ready;  ///< they came before its filters could decide
    Counter without_field;     ///< they, or their captured octets, end before a field of the user's
                               ///< own
    Counter matched;           ///< accounted in a record, or refused
    Counter refused_ring_full;    ///< the ring to the queue that owns their key was full
    Counter refused_owner_ended;  ///< they came to this queue when it had ended
    CacheCounters cache;          ///< of the table's flows
};

/// The parts of a TableQueue, which outlive it.
struct TableQueueParts {
    const DeclaredTable& table;
    /// A packet must pass all of them; nullptr: there are none. Queues share them.
    const std::deque<FilterSlot>* filters = nullptr;
    /// With `spread: key` and several queues: what they share, with this queue's inbox in it. The
    /// table is compiled for gathered packets.
    TableExchange* exchange = nullptr;
    std::size_t queue = 0;  ///< with an exchange: the number of this one
    std::uint32_t ring_slots = 1U << 13U;
    std::optional<unsigned> numa_node{};  ///< of cache and ring
    PageUse pages = PageUse::live;
    WhenRingFull when_ring_full = WhenRingFull::refuse;
    /// Is shown each packet's flow; nullptr: there is none. With one, the table has `flow_holders`.
    /// It outlives the queue.
    FlowWatcher* watcher = nullptr;
};

/// The part of a declared table that one queue's packets make: a cache and a ring of its own beside
/// those of the queue. Virtual calls, one per burst, hide the record size.
class TableQueue : public TableFlows {
public:
    /// Finds those packets that match, and prefetches the entries that account() will touch. With
    /// an exchange it does nothing: account() sends the packets to the queues of their keys. Called
    /// before each account() with the same burst, whose packets are not in the main table yet.
    ///
    /// @param burst, packets  as BurstStage::before_burst() has them
    /// @thread                the input thread; so are all below that say nothing else
    virtual void match(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept = 0;
    /// Accounts those packets that match, or sends them to the queues that own them and accounts
    /// what has come from others. Then it ends records that are due.
    ///
    /// @param burst    of the packets
    /// @param packets  that are metered, as BurstStage::on_burst() has them
    virtual void account(const FrameBurst& burst,
                         std::span<const KeyedPacket> packets) noexcept = 0;
    /// Instead of account(), once the table is taken away: ends some of its flows, with reason
    /// `forced_end`. What other queues have sent is accounted before.
    ///
    /// @param burst  whose packets are not for the table any more
    virtual void end_some(const FrameBurst& burst) noexcept = 0;
    using TableFlows::end_some;
    /// After an end_some(): no flow is left here, and no record waits for room in the ring.
    /// @thread  any. Where it returns true, records and counters of the flows are there to be read
    [[nodiscard]] bool has_ended() const noexcept {
        return has_ended_.load(std::memory_order_acquire);  // pairs with set_ended()
    }
    /// As BurstStage::has_work().
    [[nodiscard]] virtual bool has_work() noexcept = 0;
    /// As BurstStage::drain().
    [[nodiscard]] virtual bool drain(Timestamp now) noexcept = 0;
    /// Counts what lies in the inbox as `refused_owner_ended`, and drops it.
    /// @thread  main, after the input threads of all queues have ended
    virtual void refuse_rest() noexcept {}

    /// @thread  the export thread drains it
    [[nodiscard]] virtual RecordSource& records() noexcept = 0;
    /// @thread  any
    [[nodiscard]] virtual RingFill ring() const noexcept = 0;
    /// Whether the cache got explicit huge pages.
    /// @thread  any
    [[nodiscard]] virtual bool huge_pages() const noexcept = 0;

    TableCounters counters;

protected:
    void set_ended(bool has_ended) noexcept {
        has_ended_.store(has_ended, std::memory_order_release);
    }

private:
    std::atomic<bool> has_ended_{false};
};

/// The memory of such a queue's cache and ring, in octets each.
/// @thread  any; pure
[[nodiscard]] std::array<std::size_t, 2> table_memory(const TableQueueParts& parts) noexcept;

/// Makes and touches all memory of a table's queue.
///
/// @errors  std::bad_alloc, also MemoryShortage
/// @thread  any but the input thread
[[nodiscard]] std::unique_ptr<TableQueue> make_table_queue(const TableQueueParts& parts,
                                                           FlowHasher hasher);

}  // namespace tributary
