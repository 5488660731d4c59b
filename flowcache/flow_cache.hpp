// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "flowcache/cache_counters.hpp"
#include "flowcache/deadline.hpp"
#include "flowcache/expiry_wheel.hpp"
#include "flowcache/flow_identity.hpp"
#include "flowcache/flow_record.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/options.hpp"
#include "flowcache/record_stream.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

// The flow table of one queue. One thread owns it; nothing in it is shared, nothing is allocated
// after start.
//
//   memory handed in:  | buckets: EntryIndex[2^k] | wheel slots | entries: Entry[max_flows] |
//
//   buckets[hash mod 2^k] -> entry -> entry -> kNoEntry     2^k >= max_flows: chains are short
//
//   an entry is  free     in the free list (by next_in_bucket), or never used (index >= used_)
//                running  in one bucket chain and in one wheel slot; end_reason is `none`
//                waiting  ended while the sink was full: in the waiting list, oldest end first, and
//                         in no chain, so a later packet of its key opens a new entry
//
// When a record ends, and with which reason, depends on the packets and the clock alone (DESIGN 2):
// a packet first tests the deadlines of the entry it finds, so it does not matter how far the wheel
// has come.

template <std::size_t kRecordBytes>
class FlowCache {
public:
    using Record = FlowRecord<kRecordBytes>;

    /// Memory that a cache of these options needs, in bytes; it is touched only as far as it is
    /// used.
    [[nodiscard]] static std::size_t bytes_needed(const FlowCacheOptions& options) noexcept {
        return sizeof(EntryIndex) * (bucket_count(options) + ExpiryWheel::kSlots) +
               sizeof(Entry) * options.max_flows + alignof(Entry);
    }

    /// @param memory    bytes_needed() bytes that outlive the cache, best huge pages of the
    /// thread's NUMA node
    /// @param counters  outlive the cache; written by the thread that owns it
    FlowCache(const FlowCacheOptions& options, const RecordLayout& layout, FlowHasher hasher,
              std::span<std::byte> memory, CacheCounters& counters) noexcept
        : options_(options),
          layout_(layout),
          identity_(hasher, layout, options.tunnel_in_key),
          counters_(counters),
          buckets_(take<EntryIndex>(memory, bucket_count(options))),
          wheel_(take<EntryIndex>(memory, ExpiryWheel::kSlots)),
          entries_(take<Entry>(memory, options.max_flows)) {
        std::ranges::fill(buckets_, kNoEntry);
    }

    [[nodiscard]] const FlowCacheOptions& options() const noexcept { return options_; }
    [[nodiscard]] FlowHash hash(const KeyedPacket& packet) const noexcept {
        return identity_.hash(packet);
    }

    /// Accounts a burst of packets in their order; records that end on the way go to `sink`.
    ///
    /// @param packets  keys and hashes filled in
    /// @cost           no allocation; two prefetched memory accesses per packet, and their chains
    template <RecordSink<Record> Sink>
    void account(std::span<const KeyedPacket> packets, Sink& sink) noexcept {
        for (const KeyedPacket& packet : packets) {
            __builtin_prefetch(&bucket_of(packet.hash));
        }
        for (const KeyedPacket& packet : packets) {
            if (const EntryIndex first = bucket_of(packet.hash); first != kNoEntry) {
                __builtin_prefetch(&entries_[first], 1);
                __builtin_prefetch(reinterpret_cast<const std::byte*>(&entries_[first]) + 64, 1);
            }
        }
        for (const KeyedPacket& packet : packets) {
            account(packet, sink);
        }
    }

    /// Ends records whose deadline has passed, a bounded number of them, so that no burst pays for
    /// many. Call it after each burst, also after an empty one.
    ///
    /// @param now     the source's clock
    /// @param budget  entries to visit at the most
    template <RecordSink<Record> Sink>
    void expire_some(Timestamp now, std::size_t budget, Sink& sink) noexcept {
        release_waiting(budget, sink);
        std::size_t empty_slots = kEmptySlotsPerStep;
        const std::uint64_t current = ExpiryWheel::tick_of(now);
        if (running_ == 0) {
            wheel_.leap(now);
        }
        while (wheel_.next_tick() < current && budget > 0 && empty_slots > 0) {
            const EntryIndex due = wheel_.due_slot();
            if (due == kNoEntry) {
                wheel_.advance(now);
                --empty_slots;
                continue;
            }
            visit(due, now, sink);
            --budget;
        }
    }

    /// At shutdown: ends every record, with the reason of its deadline where that has passed, else
    /// `forced_end`. Call it until it returns true; false means that the sink is full and records
    /// wait.
    template <RecordSink<Record> Sink>
    [[nodiscard]] bool end_all(Timestamp now, Sink& sink) noexcept {
        release_waiting(entries_.size(), sink);
        for (; running_ > 0 && waiting_ == kNoEntry; ++drained_) {
            const Entry& entry = entries_[drained_];
            if (!entry.in_table) {
                continue;
            }
            const Deadline deadline = deadline_of(entry.record.core, options_);
            end(drained_, now > deadline.at ? deadline.reason : FlowEndReason::forced_end, sink);
        }
        return running_ == 0 && waiting_ == kNoEntry;
    }

private:
    struct Entry {
        Record record;
        EntryLinks links;           ///< in the wheel's slot or in the waiting list
        EntryIndex next_in_bucket;  ///< or in the free list
        std::uint32_t
            hash_tag;  ///< upper half of the hash; the lower half is found again by rehashing
        std::uint32_t wheel_slot;
        bool in_table;  ///< running
    };

    static constexpr std::size_t kEmptySlotsPerStep = 1024;
    static constexpr std::size_t kEvictionCandidates = 8;

    [[nodiscard]] static std::size_t bucket_count(const FlowCacheOptions& options) noexcept {
        return std::bit_ceil(std::size_t{options.max_flows});
    }

    template <class T>
    [[nodiscard]] static std::span<T> take(std::span<std::byte>& memory,
                                           std::size_t count) noexcept {
        void* at = memory.data();
        std::size_t left = memory.size();
        std::align(alignof(T), sizeof(T) * count, at, left);
        memory = std::span(static_cast<std::byte*>(at), left).subspan(sizeof(T) * count);
        return {static_cast<T*>(at), count};
    }

    [[nodiscard]] EntryIndex& bucket_of(FlowHash hash) const noexcept {
        return buckets_[hash & (buckets_.size() - 1)];
    }
    [[nodiscard]] static std::uint32_t tag_of(FlowHash hash) noexcept {
        return static_cast<std::uint32_t>(hash >> 32U);
    }

    template <class Sink>
    void account(const KeyedPacket& packet, Sink& sink) noexcept {
        const Timestamp clock = packet.packet->clock;
        EntryIndex index = find(packet);
        if (index != kNoEntry) {
            const Deadline deadline = deadline_of(entries_[index].record.core, options_);
            if (clock >
                deadline.at) {  // a packet exactly at the deadline still belongs to the record
                end(index, deadline.reason, sink);
                index = kNoEntry;
            }
        }
        if (index == kNoEntry) {
            index = open(packet, sink);
        }
        const bool earlier = packet.packet->seen_at < entries_[index].record.core.start;
        add_packet(entries_[index].record, layout_, packet);
        if (earlier) {  // a late packet has moved the active deadline forward
            wheel_.remove(entries_, index, entries_[index].wheel_slot);
            schedule(index);
        }
        counters_.packets.add();
        counters_.octets.add(packet.fields->ip_bytes);
        if (options_.tcp_end &&
            (packet.fields->tcp_control_bits & (tcp_flag::kFin | tcp_flag::kRst)) != 0) {
            end(index, FlowEndReason::end_of_flow, sink);
        }
    }

    [[nodiscard]] EntryIndex find(const KeyedPacket& packet) const noexcept {
        EntryIndex index = bucket_of(packet.hash);
        const std::uint32_t tag = tag_of(packet.hash);
        while (index != kNoEntry) {
            Entry& entry = entries_[index];
            if (entry.hash_tag == tag && identity_.is_same(entry.record, packet)) {
                return index;
            }
            index = entry.next_in_bucket;
        }
        return kNoEntry;
    }

    template <class Sink>
    [[nodiscard]] EntryIndex open(const KeyedPacket& packet, Sink& sink) noexcept {
        const EntryIndex index = allocate(packet.packet->clock, sink);
        Entry& entry = entries_[index];
        start_record(entry.record, layout_, packet);
        EntryIndex& bucket = bucket_of(packet.hash);
        entry.next_in_bucket = bucket;
        entry.hash_tag = tag_of(packet.hash);
        entry.in_table = true;
        bucket = index;
        if (running_ == 0) {
            wheel_.leap(packet.packet->clock);
        }
        schedule(index);
        ++running_;
        counters_.flows_created.add();
        counters_.entries.add();
        return index;
    }

    void schedule(EntryIndex index) noexcept {
        const Timestamp deadline = deadline_of(entries_[index].record.core, options_).at;
        const std::uint64_t tick = wheel_.schedule(entries_, index, deadline);
        next_due_ = std::min(next_due_, deadline);
        entries_[index].wheel_slot = static_cast<std::uint32_t>(tick % ExpiryWheel::kSlots);
    }

    /// Looks at an entry whose wheel slot has come: ends it, or schedules it at its deadline of
    /// now.
    template <class Sink>
    void visit(EntryIndex index, Timestamp now, Sink& sink) noexcept {
        const Deadline deadline = deadline_of(entries_[index].record.core, options_);
        if (now > deadline.at) {
            end(index, deadline.reason, sink);
            return;
        }
        wheel_.remove(entries_, index, entries_[index].wheel_slot);
        schedule(index);
    }

    /// Ends a running entry. Its record leaves at once, or waits while the sink is full.
    template <class Sink>
    void end(EntryIndex index, FlowEndReason reason, Sink& sink) noexcept {
        Entry& entry = entries_[index];
        take_out_of_bucket(index);
        wheel_.remove(entries_, index, entry.wheel_slot);
        entry.in_table = false;
        entry.record.core.end_reason = reason;
        --running_;
        counters_.ended[static_cast<std::size_t>(reason)].add();
        if (waiting_ == kNoEntry && sink.try_push(entry.record)) {
            free(index);
            return;
        }
        link_last(entries_, waiting_, index);
    }

    void take_out_of_bucket(EntryIndex index) noexcept {
        EntryIndex* link = &bucket_of(identity_.hash(entries_[index].record));
        while (*link != index) {
            link = &entries_[*link].next_in_bucket;
        }
        *link = entries_[index].next_in_bucket;
    }

    /// Hands waiting records to the sink, the oldest first, until it is full or `budget` is spent.
    template <class Sink>
    void release_waiting(std::size_t budget, Sink& sink) noexcept {
        while (waiting_ != kNoEntry && budget > 0 && sink.try_push(entries_[waiting_].record)) {
            const EntryIndex index = waiting_;
            unlink(entries_, waiting_, index);
            free(index);
            --budget;
        }
    }

    template <class Sink>
    [[nodiscard]] EntryIndex allocate(Timestamp now, Sink& sink) noexcept {
        if (free_ == kNoEntry && used_ == entries_.size()) {
            make_room(now, sink);
        }
        if (free_ == kNoEntry) {
            return used_++;
        }
        const EntryIndex index = free_;
        free_ = entries_[index].next_in_bucket;
        return index;
    }
    void free(EntryIndex index) noexcept {
        entries_[index].next_in_bucket = free_;
        free_ = index;
        counters_.entries.set(counters_.entries.read() - 1);
    }

    /// Frees at least one entry of a full cache: one that is due, else one that the ring now takes,
    /// else one that is evicted, else (the ring is full) the record that has waited longest, which
    /// is lost.
    template <class Sink>
    void make_room(Timestamp now, Sink& sink) noexcept {
        release_waiting(1, sink);
        end_due(now, sink);
        if (free_ == kNoEntry && waiting_ == kNoEntry) {
            end(eviction_candidate(), FlowEndReason::lack_of_resources, sink);
        }
        if (free_ == kNoEntry) {
            const EntryIndex oldest = waiting_;
            counters_.lost_ring_full.add(entries_[oldest].record.core.tally());
            unlink(entries_, waiting_, oldest);
            free(oldest);
        }
    }

    /// Ends everything that is due, until an entry is free: up to max_flows flows fit without
    /// eviction although the wheel is behind.
    template <class Sink>
    void end_due(Timestamp now, Sink& sink) noexcept {
        while (free_ == kNoEntry && wheel_.next_tick() < ExpiryWheel::tick_of(now)) {
            const EntryIndex due = wheel_.due_slot();
            if (due == kNoEntry) {
                wheel_.advance(now);
            } else {
                visit(due, now, sink);
            }
        }
        if (free_ == kNoEntry) {
            search_current_slot(now, sink);
        }
    }

    /// Ends what is due in the slot of the current tick, whose other entries are due within
    /// milliseconds. A flood would come here with every packet, so the slot is searched again only
    /// once something in it can be due.
    template <class Sink>
    void search_current_slot(Timestamp now, Sink& sink) noexcept {
        if (searched_tick_ == wheel_.next_tick() && now <= next_due_) {
            return;
        }
        searched_tick_ = wheel_.next_tick();
        next_due_ = Timestamp::max();
        EntryIndex next = wheel_.due_slot();
        const EntryIndex last = next == kNoEntry ? kNoEntry : entries_[next].links.previous;
        for (EntryIndex index = kNoEntry; index != last;) {
            index = next;
            next = entries_[index].links.next;
            const Deadline deadline = deadline_of(entries_[index].record.core, options_);
            if (now > deadline.at) {
                end(index, deadline.reason, sink);
            } else {
                next_due_ = std::min(next_due_, deadline.at);
            }
        }
    }

    /// Of a few running entries at a cursor that goes round, the one whose last packet is longest
    /// ago.
    [[nodiscard]] EntryIndex eviction_candidate() noexcept {
        EntryIndex oldest = kNoEntry;
        for (std::size_t looked = 0; looked < kEvictionCandidates || oldest == kNoEntry; ++looked) {
            const EntryIndex index = eviction_cursor_;
            eviction_cursor_ = index + 1 == entries_.size() ? 0 : index + 1;
            const bool older = oldest == kNoEntry ||
                               entries_[index].record.core.end < entries_[oldest].record.core.end;
            if (entries_[index].in_table && older) {
                oldest = index;
            }
        }
        return oldest;
    }

    FlowCacheOptions options_;
    RecordLayout layout_;
    FlowIdentity identity_;
    CacheCounters& counters_;
    std::span<EntryIndex> buckets_;
    ExpiryWheel wheel_;
    std::span<Entry> entries_;
    EntryIndex free_ = kNoEntry;
    EntryIndex used_ = 0;  ///< entries from here on were never used
    EntryIndex waiting_ = kNoEntry;
    EntryIndex drained_ = 0;  ///< how far end_all() has come
    EntryIndex eviction_cursor_ = 0;
    std::size_t running_ = 0;
    std::uint64_t searched_tick_ =
        0;                  ///< the tick whose slot search_current_slot() has searched, and
    Timestamp next_due_{};  ///< no deadline left in that slot is earlier than this
};

}  // namespace tributary
