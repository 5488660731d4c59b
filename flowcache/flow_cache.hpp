// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "flowcache/cache_counters.hpp"
#include "flowcache/due_times.hpp"
#include "flowcache/eviction_cursor.hpp"
#include "flowcache/flow_entries.hpp"
#include "flowcache/flow_identity.hpp"
#include "flowcache/flow_index.hpp"
#include "flowcache/flow_meter.hpp"
#include "flowcache/keyed_burst.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/options.hpp"
#include "flowcache/packet_selector.hpp"
#include "flowcache/record_stream.hpp"

namespace tributary {

// The flow table of one queue. One thread owns it; nothing is shared, or allocated after start.
//
//   memory handed in:  | index: buckets | entries: lines, IPv6 addresses, groups | due times |
//
//   packet   hash -> bucket (one line) -> entry -> flow line (one line; IPv6: and its addresses)
//   clock    walk over the due times -> flow lines whose time has come -> record -> sink
//
// A burst goes through in three stages, so that misses overlap: KeyedBurst, while the input path
// still parses, hashes and prefetches the bucket, then guesses the entry and prefetches that; then
// the cache accounts. It tests the guess: a packet before it may have moved things.
//
// When a record ends, and why, depends on packets and clock alone (DESIGN 2): a packet first tests
// the deadlines of the entry it finds, however far the walk has come.
//
// Full. `max_flows` flows fit without eviction: a packet that needs an entry first ends flows that
// are due. Up to kSearch entries are looked at for one packet, all of a small cache; a larger one
// has a thirty-second more entries than flows, and is walked the faster from seven eighths on, so
// that what is due is found before they are used up. If nothing is due, EvictionCursor chooses.

template <std::size_t kRecordBytes>
class FlowCache {
public:
    using Record = FlowRecord<kRecordBytes>;

    /// Memory that a cache of these options needs, in bytes; apart from 13 per flow it is touched
    /// only as far as it is used. An IPv4 flow uses 64, one of IPv6 32 more, its due time 4.
    [[nodiscard]] static std::size_t bytes_needed(const FlowCacheOptions& options) noexcept {
        const std::size_t entries = capacity(options);
        return sizeof(FlowIndex::Bucket) * (FlowIndex::buckets_for(entries) + 1) +
               Entries::bytes_needed(entries) +
               sizeof(DueTimes::Tick) * (DueTimes::size_for(entries) + 1);
    }

    /// @param memory    bytes_needed() bytes that outlive the cache, best huge pages of its node
    /// @param counters  outlive the cache; written by the thread that owns it
    FlowCache(const FlowCacheOptions& options, const RecordLayout& layout, FlowHasher hasher,
              std::span<std::byte> memory, CacheCounters& counters) noexcept
        : options_(options),
          identity_(hasher, layout, options.tunnel_in_key),
          meter_(options, layout),
          counters_(counters),
          index_(take<FlowIndex::Bucket>(memory, FlowIndex::buckets_for(capacity(options)))),
          entries_(memory, capacity(options)),
          due_(take<DueTimes::Tick>(memory, DueTimes::size_for(capacity(options)))) {}

    [[nodiscard]] const FlowCacheOptions& options() const noexcept { return options_; }
    /// What makes packets ready for this cache. It stays good as long as the cache does.
    [[nodiscard]] KeyedBurst burst() const noexcept {
        return {options_, identity_, index_, entries_.places()};
    }

    /// Accounts a burst of packets in their order; records that end on the way go to `sink`.
    ///
    /// @param packets  at most kBurstPackets, from burst()
    /// @cost           no allocation; two prefetched cache lines per packet of a running IPv4 flow
    template <RecordSink<Record> Sink>
    void account(std::span<const KeyedPacket> packets, Sink& sink) noexcept {
        std::uint64_t octets = 0;
        for (const KeyedPacket& packet : packets) {
            account(packet, sink);
            octets += packet.fields->ip_bytes;
        }
        counters_.packets.add(packets.size());
        counters_.octets.add(octets);
    }

    /// Ends records whose deadline has passed, a bounded number of them. Call it after each burst,
    /// also an empty one. Each entry is looked at twice a second of packet time.
    ///
    /// @param now     the source's clock
    /// @param budget  records to end at the most
    template <RecordSink<Record> Sink>
    void expire_some(Timestamp now, std::size_t budget, Sink& sink) noexcept {
        release_waiting(budget, sink);
        if (due_.needs_new_base(now)) {
            set_base(now);
        }
        std::size_t pace = walk_pace_.entries_until(now, due_.walked());
        const std::size_t asked = pace;
        const DueTimes::Tick tick = due_.tick_of(now);
        while (tick > 0 && pace > 0 && budget > 0) {
            std::array<EntryIndex, kVisits> found;
            const std::size_t count =
                due_.walk(pace, tick - 1, std::span(found).first(std::min(budget, kVisits)));
            visit(std::span(found).first(count), now, sink);
            budget -= count;
        }
        walk_pace_.passed(asked - pace, due_.walked());
    }

    /// At shutdown: ends every record, with the reason of its deadline where that has passed, else
    /// `forced_end`. Call it until it returns true; false: the sink is full and records wait.
    template <RecordSink<Record> Sink>
    [[nodiscard]] bool end_all(Timestamp now, Sink& sink) noexcept {
        release_waiting(entries_.capacity(), sink);
        for (; drained_ < entries_.used() && entries_.first_waiting() == kNoEntry; ++drained_) {
            const FlowLine& later =
                entries_.line(std::min(drained_ + EntryIndex{kAhead}, entries_.used() - 1));
            index_.prefetch_bucket(later.is_running() ? later.bucket : 0);
            if (entries_.line(drained_).is_running() && outlasts(drained_, now, sink)) {
                end(drained_, FlowEndReason::forced_end, sink);
            }
        }
        return entries_.taken() == 0;
    }

    /// Names the running flow of a packet, for those who count or end it from outside.
    [[nodiscard]] std::optional<FlowHandle> handle_of(const KeyedPacket& packet) noexcept {
        const EntryIndex entry = find(packet);
        if (entry == kNoEntry) {
            return std::nullopt;
        }
        const FlowLine& line = entries_.line(entry);
        return FlowHandle{entry, line.generation, line.is_reverse(packet)};
    }
    [[nodiscard]] bool is_running(FlowHandle handle) const noexcept {
        return handle.entry < entries_.used() && entries_.line(handle.entry).is_running() &&
               entries_.line(handle.entry).generation == handle.generation;
    }
    /// Adds packets that somebody else has counted, of the handle's direction.
    ///
    /// @param span  packet times of the first and the last of them
    /// @return      false: nothing, the flow runs no more or that direction has no packet yet
    [[nodiscard]] bool add(FlowHandle handle, const PacketCounts& counts,
                           const PacketSpan& span) noexcept {
        if (!is_running(handle) || !meter_.add_counted(entries_, handle, counts, span)) {
            return false;
        }
        schedule(handle.entry);
        counters_.packets.add(counts.packets);
        counters_.octets.add(counts.octets);
        return true;
    }
    /// @return  false: the flow has ended before
    template <RecordSink<Record> Sink>
    [[nodiscard]] bool end(FlowHandle handle, FlowEndReason reason, Sink& sink) noexcept {
        if (!is_running(handle)) {
            return false;
        }
        end(handle.entry, reason, sink);
        return true;
    }

private:
    using Entries = FlowEntries<kRecordBytes>;

    /// Entries that are looked at for one packet that finds the cache full.
    static constexpr std::size_t kSearch = 4096;
    /// Entries between asking for a bucket and removing its entry, at shutdown.
    static constexpr std::size_t kAhead = 16;
    /// Entries that are visited between two looks at the due times.
    static constexpr std::size_t kVisits = 32;

    [[nodiscard]] static std::size_t capacity(const FlowCacheOptions& options) noexcept {
        const std::size_t flows = options.max_flows;
        return flows <= kSearch ? flows : flows + flows / 32;
    }

    template <class Sink>
    [[gnu::always_inline]] void account(const KeyedPacket& packet, Sink& sink) noexcept {
        EntryIndex entry = packet.guess;
        if (entry != kNoEntry && identity_.is_same(entries_, entry, packet) &&
            meter_.just_goes_on(entries_, entry, packet)) [[likely]] {
            meter_.add(entries_, entry, packet);
        } else {
            entry = account_change(packet, sink);
        }
        if (options_.tcp_end && meter_.is_tcp_end(entries_, entry, packet)) {
            end(entry, FlowEndReason::end_of_flow, sink);
        }
    }

    /// Accounts a packet that may begin or end a record, or move a deadline. Never inlined, so that
    /// the others' way is short.
    template <class Sink>
    [[gnu::noinline]] EntryIndex account_change(const KeyedPacket& packet, Sink& sink) noexcept {
        EntryIndex entry = find(packet);
        if (entry == kNoEntry || !outlasts(entry, packet.packet->clock, sink)) {
            entry = open(packet, sink);
        }
        const bool begins = meter_.is_empty(entries_, entry);
        const bool is_late = packet.packet->seen_at < entries_.line(entry).start;
        meter_.add(entries_, entry, packet);
        if (begins || is_late) {  // one that is late has moved the active deadline forward
            counters_.flows_created.add(begins ? 1 : 0);
            schedule(entry);
        }
        return entry;
    }

    /// Ends an entry whose deadline has passed; one exactly at it still belongs to it. Returns
    /// whether the entry still runs.
    template <class Sink>
    [[nodiscard]] bool outlasts(EntryIndex entry, Timestamp clock, Sink& sink) noexcept {
        Deadline deadline = meter_.deadline(entries_, entry);
        while (clock > deadline.at) {
            end(entry, deadline.reason, sink);
            if (!entries_.line(entry).is_running()) {
                return false;
            }
            deadline = meter_.deadline(entries_, entry);
        }
        return true;
    }

    [[nodiscard]] EntryIndex find(const KeyedPacket& packet) const noexcept {
        return index_.find(packet.hash, [&](EntryIndex entry) {
            return identity_.is_same(entries_, entry, packet);
        });
    }

    template <class Sink>
    [[nodiscard]] EntryIndex open(const KeyedPacket& packet, Sink& sink) noexcept {
        const Timestamp clock = packet.packet->clock;
        if (due_.needs_new_base(clock)) {
            set_base(clock);
        }
        FlowIndex::Place place{};
        make_room(clock, sink);
        const EntryIndex entry = entries_.allocate();
        while (!index_.insert(packet.hash, entry, place)) {
            end(index_.any_in_home_of(packet.hash), FlowEndReason::lack_of_resources, sink);
        }
        due_.grow(entries_.used());
        meter_.open(entries_, entry, packet);
        FlowLine& line = entries_.line(entry);
        line.bucket = place.bucket;
        line.distance = place.distance & 0x1FU;
        counters_.entries.set(entries_.taken());
        return entry;
    }

    /// @return  the entry's deadline
    Timestamp schedule(EntryIndex entry) noexcept {
        const Timestamp deadline = meter_.deadline(entries_, entry).at;
        due_.set(entry, deadline);
        nothing_due_until_ = std::min(nothing_due_until_, deadline);
        return deadline;
    }
    /// Ticks are counted anew from `now`.
    void set_base(Timestamp now) noexcept {
        due_.set_base(now);
        for (EntryIndex entry = 0; entry < entries_.used(); ++entry) {
            if (entries_.line(entry).is_running()) {
                schedule(entry);
            }
        }
    }

    /// Ends those entries whose deadline has passed; the others get their due times of now, the
    /// earliest of which is returned.
    template <class Sink>
    Timestamp visit(std::span<const EntryIndex> found, Timestamp now, Sink& sink) noexcept {
        for (const EntryIndex entry : found) {
            __builtin_prefetch(&entries_.line(entry), 1);
        }
        for (const EntryIndex entry : found) {
            index_.prefetch_bucket(entries_.line(entry).bucket);
        }
        Timestamp earliest = Timestamp::max();
        for (const EntryIndex entry : found) {
            if (outlasts(entry, now, sink)) {
                earliest = std::min(earliest, schedule(entry));
            }
        }
        return earliest;
    }

    /// Ends the record of a running entry. It leaves at once, or waits while the sink is full; then
    /// the entry is free, unless the conversation outlives its record.
    template <class Sink>
    void end(EntryIndex entry, FlowEndReason reason, Sink& sink) noexcept {
        FlowLine& line = entries_.line(entry);
        line.end_reason = reason;
        line.generation = (line.generation + 1) & 0xFF'FFFFU;
        const bool is_empty = meter_.is_empty(entries_, entry);
        bool has_left = is_empty;
        if (!is_empty) {
            counters_.ended[static_cast<std::size_t>(reason)].add();
            has_left = entries_.first_waiting() == kNoEntry && hand_over(entry, sink);
            if (has_left && meter_.outlives(reason)) {
                meter_.start_empty_slice(entries_, entry);
                schedule(entry);
                return;
            }
        }
        index_.remove({.bucket = line.bucket, .distance = line.distance}, entry);
        due_.clear(entry);
        if (has_left) {
            entries_.free(entry);
            counters_.entries.set(entries_.taken());
        } else {
            entries_.append_waiting(entry);
        }
    }

    template <class Sink>
    [[nodiscard]] bool hand_over(EntryIndex entry, Sink& sink) noexcept {
        Record record;
        meter_.write_record(entries_, entry, record);
        return sink.try_push(record);
    }

    /// Hands waiting records to the sink, the oldest first, until it is full or `budget` is spent.
    template <class Sink>
    void release_waiting(std::size_t budget, Sink& sink) noexcept {
        while (entries_.first_waiting() != kNoEntry && budget > 0 &&
               hand_over(entries_.first_waiting(), sink)) {
            entries_.free_first_waiting();
            counters_.entries.set(entries_.taken());
            --budget;
        }
    }

    /// Sees to it that an entry is free: where none is, ends what is due, else hands on a waiting
    /// record, else evicts, else (the sink is full) loses the record that has waited longest.
    template <class Sink>
    void make_room(Timestamp now, Sink& sink) noexcept {
        if (entries_.taken() < entries_.capacity() - entries_.capacity() / 8) {
            return;
        }
        if (entries_.has_room()) {
            constexpr std::size_t kHurry = 64;
            end_due(now, std::min(kHurry, due_.walked()), sink);
            return;
        }
        release_waiting(1, sink);
        end_due(now, std::min(kSearch, due_.walked()), sink);
        if (!entries_.has_room() && entries_.first_waiting() == kNoEntry) {
            end(eviction_.choose(entries_, meter_), FlowEndReason::lack_of_resources, sink);
        }
        if (!entries_.has_room()) {
            counters_.lost_ring_full.add(meter_.tally(entries_, entries_.first_waiting()));
            entries_.free_first_waiting();
            counters_.entries.set(entries_.taken());
        }
    }

    /// Ends what is due among the next `most` entries (no more than one walk, lest one is found
    /// twice), until one is free. If that was all there are, nothing is due until the earliest
    /// deadline that was seen, or the next tick: until then a flood need not look again.
    template <class Sink>
    void end_due(Timestamp now, std::size_t most, Sink& sink) noexcept {
        if (now <= nothing_due_until_) {
            return;
        }
        const bool is_all = most >= due_.walked();
        const DueTimes::Tick tick = due_.tick_of(now);
        Timestamp earliest = due_.start_of(tick + 1) - Timestamp::duration{1};
        const std::size_t free = entries_.capacity() - entries_.taken();
        while (most > 0 && entries_.capacity() - entries_.taken() == free) {
            std::array<EntryIndex, kVisits> found;
            const std::size_t count = due_.walk(most, tick, found);
            earliest = std::min(earliest, visit(std::span(found).first(count), now, sink));
        }
        if (is_all && most == 0) {
            nothing_due_until_ = earliest;
        }
    }

    FlowCacheOptions options_;
    FlowIdentity identity_;
    FlowMeter<kRecordBytes> meter_;
    CacheCounters& counters_;
    FlowIndex index_;
    Entries entries_;
    DueTimes due_;
    WalkPace walk_pace_;
    EntryIndex drained_ = 0;  ///< how far end_all() has come
    EvictionCursor eviction_;
    Timestamp nothing_due_until_ = Timestamp::max();  ///< no running flow's deadline is earlier
};

}  // namespace tributary
