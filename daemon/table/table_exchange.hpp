// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/pipeline/extract_ring.hpp"
#include "daemon/pipeline/ring_fill.hpp"
#include "daemon/table/declared_table.hpp"
#include "daemon/table/table_spreading.hpp"
#include "flowcache/key_owners.hpp"
#include "flowcache/table/compiled_table.hpp"
#include "flowcache/table/packet_extract.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// A table that is spread by key, as its queue sends its extracts in the order of the capture.
class OrderedExtracts {
public:
    OrderedExtracts() = default;
    OrderedExtracts(const OrderedExtracts&) = delete;
    OrderedExtracts& operator=(const OrderedExtracts&) = delete;

    /// Pushes what is not sent yet, as far as rings have room. @return  how many are not sent
    [[nodiscard]] virtual std::size_t push_extracts() noexcept = 0;
    /// The least number of an extract that is not sent; ExchangeQueues::kEnded: all are.
    [[nodiscard]] virtual std::uint64_t first_unsent() const noexcept = 0;
    /// Accounts all extracts of the inbox whose turn has come. @return  whether there were some
    virtual bool account_extracts() noexcept = 0;
    /// Counts as refused what is not sent.
    virtual void refuse_unsent() noexcept = 0;

protected:
    ~OrderedExtracts() = default;
};

/// The queues between which the packets of all tables go that are spread by key, and how far each
/// has come.
///
/// In the order of the capture an inbox accounts the extract with the least number as soon as each
/// queue whose ring is empty has got beyond that number. A queue that finds a ring full says up to
/// which number it has sent all extracts of all tables, and accounts those that have come for it,
/// of all tables, until there is room. That cannot come to a standstill, for n, the least number of
/// an extract that is in a ring or could not be sent, in any table:
///
///   * A queue that waits has got to its own least unsent number, which is above n unless n is its
///     own. If an extract n is not sent yet, its ring has lesser numbers, for a ring's numbers
///     rise. So n is in a ring, no other queue is short of n, and the owner of n accounts it: it is
///     in its loop of waiting and accounting, as is a queue that has ended (drain()), or it comes
///     to its next burst.
///   * A queue also waits in ParsedCapture, until slower ones pass a batch or a batch is read, and
///     accounts nothing there. All numbers of earlier batches are below what it has said, so it
///     keeps no other queue from accounting. And no queue waits for room in its rings, if these
///     have room for ParsedCapture::kMostFramesBetween extracts: when it began to wait for batch b
///     it had accounted all that came before the slowest queue's batch, which is at most kBatches
///     behind b; and until batch b is read, the others send nothing beyond it.
///
/// @thread  made by main before input threads run; a queue's functions are its input thread's
class ExchangeQueues {
public:
    /// @param queues  at most kMostQueuesBetween
    explicit ExchangeQueues(std::size_t queues) : states_(queues), tables_(queues) {}

    /// Adds a table to those of a queue, in the order in which its stages are called.
    ///
    /// @param table  outlives the last burst
    void add(std::size_t queue, OrderedExtracts& table) { tables_[queue].push_back(&table); }
    /// Whether a burst's extracts of all tables are there to be sent, once this one's are.
    [[nodiscard]] bool is_last(std::size_t queue, const OrderedExtracts& table) const noexcept {
        return tables_[queue].back() == &table;
    }
    /// Sends the extracts that all tables have of a burst, and accounts those that have come.
    ///
    /// @param next_number  FrameBurst::next_number
    void send(std::size_t queue, std::uint64_t next_number) noexcept;

    /// From now on no queue waits for another one, which may never have started. So what a queue
    /// sends may stay in a ring, if the owner has ended by then.
    /// @thread  any
    void abandon() noexcept { is_abandoned_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_abandoned() const noexcept {
        return is_abandoned_.load(std::memory_order_relaxed);
    }

    static constexpr std::uint64_t kEnded = std::numeric_limits<std::uint64_t>::max();
    /// All extracts of this queue with a lower number are in the rings; kEnded: all that there are.
    void set_progress(std::size_t queue, std::uint64_t number) noexcept {
        states_[queue].progress.store(number, std::memory_order_release);
    }
    /// To be read before the queue's ring: what is not in it then comes with this number or a
    /// higher one.
    [[nodiscard]] std::uint64_t progress(std::size_t queue) const noexcept {
        // pairs with set_progress(): the extracts before are in the ring
        return states_[queue].progress.load(std::memory_order_acquire);
    }
    /// Whether all queues have ended. What a ring does not have after that never comes.
    [[nodiscard]] bool have_all_ended() const noexcept;

    /// Says the clock of a queue, exact to kClockStep: each step takes the other threads a cache
    /// miss. Live a queue says it before it pushes extracts: an owner that has found them reads it.
    void set_clock(std::size_t queue, Timestamp now) noexcept;
    /// The latest clock of all queues.
    [[nodiscard]] Timestamp latest_clock() const noexcept;
    static constexpr std::chrono::milliseconds kClockStep{1};

private:
    [[nodiscard]] bool push_all(std::size_t queue) noexcept;
    [[nodiscard]] bool account_all(std::size_t queue) noexcept;
    void refuse_all(std::size_t queue) noexcept;

    /// Written by one queue, read by all.
    struct alignas(64) QueueState {
        std::atomic<std::uint64_t> progress{0};
        std::atomic<Timestamp::rep> clock{0};
    };

    std::vector<QueueState> states_;
    std::vector<std::vector<OrderedExtracts*>> tables_;  ///< by queue
    std::atomic<bool> is_abandoned_{false};
};

/// The rings of a table that is spread by key, from each queue to each other and to itself.
///
///     queue 0 --ring--> | inbox of queue 0: accounts the keys that queue 0 owns
///     queue 1 --ring--> |
///     queue 0 --ring--> | inbox of queue 1
///     queue 1 --ring--> |
///
/// Extracts of packets go through the rings, never octets of packets or pointers into them.
///
/// Clock. A cache's clock is that of the extracts, in the order of the capture. Live it is the
/// latest of the clocks of all queues, because an extract that comes a little late must not turn it
/// back. It goes back only when all queues' clocks have (CacheClock).
///
/// @thread  made by main before input threads run; a queue's functions are its input thread's
class TableExchange {
public:
    /// Octets of the rings of one queue's inbox.
    [[nodiscard]] static std::size_t inbox_bytes(const CompiledTable& table,
                                                 const TableSpreading& spreading) noexcept {
        return spreading.queues * ExtractRing::bytes_needed(slot_octets(table), spreading.slots);
    }

    /// @param table      compiled for gathered packets; outlives the exchange
    /// @param spreading  with at most kMostQueuesBetween queues
    /// @param queues     those of all tables; outlive the exchange
    TableExchange(const DeclaredTable& table, const TableSpreading& spreading,
                  ExchangeQueues& queues);

    /// Makes the inbox of a further queue.
    ///
    /// @errors  std::bad_alloc, also MemoryShortage
    void add_inbox(std::optional<unsigned> numa_node, PageUse pages);

    [[nodiscard]] const CompiledTable& table() const noexcept { return table_.compiled(); }
    [[nodiscard]] const TableSpreading& spreading() const noexcept { return spreading_; }
    [[nodiscard]] const KeyOwners& owners() const noexcept { return owners_; }
    [[nodiscard]] std::size_t slot_octets() const noexcept { return slot_octets(table()); }
    [[nodiscard]] ExtractRing& ring(std::size_t sender, std::size_t owner) noexcept {
        return inboxes_[owner].rings[sender];
    }
    /// Whether nothing is in any ring. Where all queues have stopped to send, it stays so.
    ///
    /// @thread  any; TableQueue::has_ended() that is read after it is as of the last extracts, or
    ///          later
    [[nodiscard]] bool is_empty() const noexcept;
    /// Extracts in the rings of a queue's inbox, and room for them.
    /// @thread  any
    [[nodiscard]] RingFill inbox(std::size_t owner) const noexcept;
    [[nodiscard]] ExchangeQueues& queues() const noexcept { return queues_; }

private:
    struct Inbox {
        Inbox(std::size_t bytes, std::optional<unsigned> numa_node, PageUse pages)
            : memory(bytes, numa_node, pages) {}

        NumaMemory memory;
        std::deque<ExtractRing> rings{};  ///< by sender
    };
    [[nodiscard]] static std::size_t slot_octets(const CompiledTable& table) noexcept {
        return sizeof(PacketExtract) + table.gathered_octets();
    }

    const DeclaredTable& table_;
    TableSpreading spreading_;
    KeyOwners owners_;
    ExchangeQueues& queues_;
    std::deque<Inbox> inboxes_;
};

/// The extracts of one queue's burst on their way to the queues that own them.
///
/// @thread  the queue's input thread; nothing allocates once it is made
class ExtractSender {
public:
    /// @param exchange  outlives the sender
    /// @errors          std::bad_alloc
    ExtractSender(TableExchange& exchange, std::size_t queue);

    /// Takes what is needed of a packet; at most kBurstPackets since clear().
    ///
    /// @param number  of the packet in its capture; 0: live
    void add(const PacketView& packet, const PacketFields& fields, std::uint64_t number) noexcept;
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Pushes what is not sent yet, as far as rings have room.
    ///
    /// @return  how many are not sent
    [[nodiscard]] std::size_t push() noexcept;
    /// The least number of an extract that is not sent; ExchangeQueues::kEnded: all are.
    [[nodiscard]] std::uint64_t first_unsent() const noexcept;
    void clear() noexcept;

private:
    /// Extracts for one owner, in their order.
    struct List {
        std::array<std::uint8_t, kBurstPackets> places{};
        std::size_t count = 0;
        std::size_t sent = 0;
    };

    [[nodiscard]] std::byte* slot(std::size_t place) noexcept {
        return octets_.data() + place * slot_octets_;
    }

    TableExchange& exchange_;
    std::size_t queue_;
    std::size_t slot_octets_;
    std::vector<std::byte> octets_;  ///< of kBurstPackets slots
    std::array<std::uint64_t, kBurstPackets> numbers_{};
    std::size_t count_ = 0;
    std::vector<List> lists_;  ///< by owner
};

/// The extracts that come to one queue, in bursts for its cache.
///
/// @thread  the queue's input thread; nothing allocates once it is made
class ExtractInbox {
public:
    /// @param exchange  outlives the inbox
    /// @errors          std::bad_alloc
    ExtractInbox(TableExchange& exchange, std::size_t queue);

    /// Live: sets the clock, and begins a round, in which each ring gives at most kBurstPackets.
    ///
    /// @param now  the clock of this queue
    void begin_round(Timestamp now) noexcept;
    /// Fills the burst: with packets of this round, or in the order of the capture with those whose
    /// turn has come. release() must follow.
    ///
    /// @return  how many packets it has
    [[nodiscard]] std::size_t fill() noexcept;
    /// Packets of the burst, with the clock of the table.
    [[nodiscard]] const PacketView& packet(std::size_t place) const noexcept {
        return packets_[place];
    }
    [[nodiscard]] const PacketFields& fields(std::size_t place) const noexcept {
        return fields_[place];
    }
    /// The burst's packets are accounted: their slots become free.
    void release() noexcept;
    /// Frees all slots; no queue fills any more.
    ///
    /// @return  how many had an extract
    [[nodiscard]] std::size_t drop_all() noexcept;

    [[nodiscard]] Timestamp clock() const noexcept { return clock_; }

private:
    /// What a look into a ring has shown, until release().
    struct Look {
        ExtractRing::Slots slots;
        std::size_t taken = 0;
        std::uint64_t next = 0;   ///< number of the next one, if it is not the last
        std::uint64_t floor = 0;  ///< all that come behind them have this number or a higher one
    };
    /// An extract that is so far ahead of all queues' clocks was stamped before the host's clock
    /// was set back.
    static constexpr std::chrono::seconds kTurn{2};

    void fill_by_arrival() noexcept;
    void fill_by_number() noexcept;
    [[nodiscard]] Look* next_by_number() noexcept;
    void look_into(std::size_t sender) noexcept;
    void take(Look& look) noexcept;
    [[nodiscard]] static const PacketExtract& extract_in(const std::byte* slot) noexcept {
        return *reinterpret_cast<const PacketExtract*>(slot);
    }

    TableExchange& exchange_;
    std::size_t queue_;
    std::size_t gathered_octets_;
    std::vector<Look> looks_;  ///< by sender
    std::size_t sender_ = 0;   ///< live: whose ring is the next one of this round
    std::size_t left_ = 0;     ///< live: that it may still give
    Timestamp clock_{};
    Timestamp latest_{};  ///< live: of all queues, at the beginning of the round or later
    std::size_t count_ = 0;
    std::array<PacketView, kBurstPackets> packets_{};
    std::array<PacketFields, kBurstPackets> fields_{};
};

}  // namespace tributary
