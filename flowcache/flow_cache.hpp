// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "flowcache/cache_clock.hpp"
#include "flowcache/cache_room.hpp"
#include "flowcache/cache_scan.hpp"
#include "flowcache/deadlines.hpp"
#include "flowcache/entry_update.hpp"
#include "flowcache/flow_entries.hpp"
#include "flowcache/flow_holders.hpp"
#include "flowcache/flow_index.hpp"
#include "flowcache/key_matcher.hpp"
#include "flowcache/keyed_burst.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/cache_counters.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/record/prefetch.hpp"
#include "flowcache/record/record_stream.hpp"
#include "flowcache/tcp_end.hpp"

namespace tributary {

// The flow table of one queue. One thread owns it; nothing is shared, or allocated after start.
//
//   memory  | index | entries: HotEntry, groups, IPv6 addresses | due times | EmptyEntries
//           | pools of groups with hooks | masks of FlowHolders |
//   packet  hash -> bucket (a cache line) -> entry -> HotEntry (a cache line; IPv6: and addresses)
//   clock   walk over the due times -> HotEntry of each due flow -> record -> sink
//   end     record -> sink, and to the flow's holders -> end of the flow, to them -> free
//
// A burst goes through in three stages, so that cache misses overlap. While the input path still
// parses, KeyedBurst hashes and prefetches the bucket; then it finds a candidate for the entry and
// prefetches that. Then the cache accounts, with a BurstPrefetch. It tests the candidate, because a
// packet before may have moved things, and leaves the flow's entry in the packet.
//
// When a record ends, and why, depends on packets and clock alone (DESIGN 2): a packet first tests
// the deadlines of its entry, however far the walk has come.
//
// Full. `max_flows` flows fit without eviction: a packet that needs an entry first ends due flows
// (entries_for() is why these are found in time). If none is due, EvictionCursor chooses.

/// Entries that expire_some() may visit after a burst. Twice a burst: even if every packet opens a
/// flow, they are ended faster than they come.
inline constexpr std::size_t kExpiryBudget = 2 * kBurstPackets;

/// @tparam HookedGroups  all groups with hooks (GroupHooks); the layout says which of them records
///                       have
template <std::size_t kRecordBytes, class HookedGroups = StandardHookedGroups>
class FlowCache {
public:
    using Record = FlowRecord<kRecordBytes>;

    /// Bytes that a cache of these options needs. They are touched as flows need them: 85 for each,
    /// one of IPv6 32 more, each direction with TCP analysis 64, and 128 if something goes wrong.
    [[nodiscard]] static std::size_t bytes_needed(const FlowCacheOptions& options) noexcept {
        const std::size_t entries = entries_for(options);
        return sizeof(FlowIndex::Bucket) * (FlowIndex::buckets_for(entries) + 1) +
               Entries::bytes_needed(entries) + Update::Hooks::bytes_needed(options) +
               sizeof(DueTimes::Tick) * (DueTimes::size_for(entries) + 1) +
               sizeof(EmptyEntries::Word) * (EmptyEntries::words_for(entries) + 1) +
               sizeof(FlowHolders::Mask) * FlowHolders::masks_for(options, entries);
    }

    /// @param memory    bytes_needed() zeros that outlive the cache, best huge pages of its node
    /// @param counters  outlive the cache; written by the thread that owns it
    FlowCache(const FlowCacheOptions& options, const RecordLayout& layout, FlowHasher hasher,
              std::span<std::byte> memory, CacheCounters& counters) noexcept
        : options_(options),
          matcher_(hasher, layout, options.key),
          counters_(counters),
          index_(take<FlowIndex::Bucket>(memory, FlowIndex::buckets_for(entries_for(options)))),
          entries_(memory, entries_for(options), layout, packets_touch_groups(options, layout),
                   counters.entries),
          due_(take<DueTimes::Tick>(memory, DueTimes::size_for(entries_for(options)))),
          empty_entries_(
              take<EmptyEntries::Word>(memory, EmptyEntries::words_for(entries_for(options)))),
          update_(options, layout, entries_.groups(), memory, counters),
          holders_(take<FlowHolders::Mask>(memory,
                                           FlowHolders::masks_for(options, entries_for(options)))),
          eviction_(most_empty_entries(options)),
          layout_(layout) {}

    /// Prepares packets for this cache. It is valid as long as the cache is.
    [[nodiscard]] KeyedBurst burst(BurstFilling filling = BurstFilling::one_by_one) const noexcept {
        return {options_, matcher_, index_, entries_.places(), filling};
    }

    /// Accounts a burst of packets in their order; records that end on the way go to `sink`. Leaves
    /// each packet's entry in it, for flow_of().
    ///
    /// @param packets  at most kBurstPackets, from burst(); they stay until expire_some(), another
    ///                 account(), end_all(), or the end of the cache
    /// @cost  two prefetched cache lines per packet of a running IPv4 flow, and its groups unless
    ///        it is CompactTcp; no allocation. Not inlined, so that packets have all registers.
    template <RecordSink<Record> Sink>
    [[gnu::noinline]] void account(std::span<KeyedPacket> packets, Sink& sink) noexcept {
        burst_ = packets;
        begun_ = 0;
        if (!packets.empty() && clock_.has_gone_back(*this, packets.front())) [[unlikely]] {
            CacheClock::account(*this, packets, sink);
            return;
        }
        BurstCounts counts(packets.data());
        BurstPrefetch prefetch(update_, packets);
        KeyedPacket* const last = packets.data() + packets.size();
        for (KeyedPacket* packet = packets.data(); packet != last; ++packet) {
            prefetch.step({packet, last});
            account(*packet, counts, sink);
        }
        counts.move_to(counters_, last);
    }

    /// account(), and calls `after` with each packet as soon as it is accounted.
    ///
    /// @cost  of account(), and counters are written for each packet
    template <RecordSink<Record> Sink, class After>
    [[gnu::noinline]] void account_each(std::span<KeyedPacket> packets, Sink& sink,
                                        After after) noexcept {
        burst_ = packets;
        begun_ = 0;
        const bool has_gone_back = !packets.empty() && clock_.has_gone_back(*this, packets.front());
        BurstPrefetch prefetch(update_, packets);
        for (std::size_t place = 0; place < packets.size(); ++place) {
            const std::span<KeyedPacket> one = packets.subspan(place, 1);
            if (has_gone_back) [[unlikely]] {
                CacheClock::account(*this, one, sink);
            } else {
                BurstCounts counts(one.data());
                prefetch.step(packets.subspan(place));
                account(one.front(), counts, sink);
                counts.move_to(counters_, one.data() + 1);
            }
            after(one.front());
        }
    }

    /// Ends records whose deadline has passed, a bounded number of them. Call it after each burst,
    /// also an empty one. Each entry is tested twice a second of packet time.
    ///
    /// @param now     the source's clock; CacheClock handles one that goes back
    /// @param budget  entries to visit at the most, and waiting records to hand on
    template <RecordSink<Record> Sink>
    void expire_some(Timestamp now, std::size_t budget, Sink& sink) noexcept {
        forget_burst();
        holders_.sweep_some();
        release_waiting(budget, sink);
        clock_.follow(*this, now, budget, sink);
        std::size_t pace = walk_pace_.entries_until(now, due_.walked());
        const std::size_t asked = pace;
        const DueTimes::Tick tick = due_.tick_of(now);
        while (tick > 0 && pace > 0 && budget > 0) {
            std::array<EntryIndex, kVisits> found;
            const std::size_t count = due_.walk(walk_at_, pace, tick - 1,
                                                std::span(found).first(std::min(budget, kVisits)));
            visit(std::span(found).first(count), now, sink);
            budget -= count;
        }
        walk_pace_.passed(asked - pace, due_.walked());
    }

    /// At shutdown: ends every record, with the reason of its deadline where that has passed, else
    /// `forced_end`. Call it until it returns true; false: the sink is full and records wait.
    /// Flows that begin after that end with the next call.
    template <RecordSink<Record> Sink>
    [[nodiscard]] bool end_all(Timestamp now, Sink& sink) noexcept {
        if (end_scan_.end_some(*this, entries_.capacity(), now, sink)) {
            end_scan_ = {};  // flows may begin behind the scan, between two calls
        }
        return is_empty();
    }

    /// From now on records end by other timeouts. A CacheScan must then schedule_some() to its end;
    /// until then a flow that has become due may leave as late as by the old timeouts.
    void set_timeouts(const Timeouts& timeouts) noexcept { update_.set_timeouts(timeouts); }

    /// Whether records wait for room in the sink.
    [[nodiscard]] bool has_waiting() const noexcept { return entries_.first_waiting() != kNoEntry; }

    /// Whether no flow runs, and no record waits for room in the sink.
    [[nodiscard]] bool is_empty() const noexcept { return entries_.taken() == 0; }

    /// Packets of the last account() that began their flow.
    [[nodiscard]] PacketMask begun() const noexcept { return begun_; }
    /// The flow of a packet of the last account(), until expire_some().
    ///
    /// @return  nothing: the flow has ended since, or flows cannot be held (`flow_holders`); then
    ///          the entry may be another flow's
    [[nodiscard]] std::optional<FlowHandle> flow_of(const KeyedPacket& packet) const noexcept {
        if (!holders_.are_possible() || packet.entry == nullptr) {
            return std::nullopt;
        }
        return entries_.handle(entries_.index_of(*packet.entry), packet);
    }
    /// The handle of the running flow that a packet would be accounted to, by a search.
    [[nodiscard]] std::optional<FlowHandle> handle_of(const KeyedPacket& packet) noexcept {
        const EntryIndex entry = find(packet);
        return entry == kNoEntry ? std::nullopt : std::optional(entries_.handle(entry, packet));
    }
    [[nodiscard]] bool is_running(FlowHandle handle) const noexcept {
        return entries_.is_running(handle);
    }
    /// Copies the record that a flow has so far; the reason of its end is `none`.
    ///
    /// @return  false: the flow has ended, or is between two records
    /// @cost    a compact flow is expanded
    [[nodiscard]] bool copy_record(FlowHandle flow, Record& record) noexcept {
        if (!is_running(flow) || update_.is_empty(entries_.hot(flow.entry))) {
            return false;
        }
        update_.write_expanded(entries_, flow.entry, record);
        return true;
    }
    [[nodiscard]] const RecordLayout& layout() const noexcept { return layout_; }
    /// Entries, entries_for() the options.
    [[nodiscard]] std::size_t capacity() const noexcept { return entries_.capacity(); }

    /// Bytes that allow_holders() needs for a cache of these options.
    [[nodiscard]] static std::size_t holder_bytes_needed(const FlowCacheOptions& options) noexcept {
        return sizeof(FlowHolders::Mask) * entries_for(options);
    }
    /// From now on flows can be held, as with `flow_holders`. Without effect if they already can
    /// be. Between two bursts.
    ///
    /// @param memory  holder_bytes_needed() zeros that outlive the cache
    void allow_holders(std::span<std::byte> memory) noexcept {
        if (!holders_.are_possible()) {
            holders_ = FlowHolders(take<FlowHolders::Mask>(memory, entries_.capacity()));
        }
    }
    /// Works on having room for so many more holders.
    ///
    /// @return  whether there is room; if not, call it again, now or after another burst
    [[nodiscard]] bool make_room_for_holders(std::size_t holders) noexcept {
        return holders_.make_room_for(holders);
    }
    /// From now on the holder may hold flows, and gets the notices of those. Between two bursts, or
    /// in a notice.
    ///
    /// @param holder  outlives its removal, or the cache
    /// @return        nothing: flows cannot be held (`flow_holders`), or there are
    ///                FlowHolders::kMost. One that was removed counts until expire_some() was
    ///                called once for each FlowHolders::kSweep entries
    [[nodiscard]] std::optional<HolderId> add_holder(FlowHolder& holder) noexcept {
        return holders_.add(holder);
    }
    /// Lets go all flows of a holder, which gets no further notice; its id names no holder any
    /// more.
    void remove_holder(HolderId id) noexcept { holders_.remove(id, entries_.used()); }
    /// From now on the holder gets the notices of this flow. A flow that it holds, it still holds.
    ///
    /// @return  false: the flow has ended, or there is no such holder
    [[nodiscard]] bool hold(FlowHandle flow, HolderId id) noexcept {
        if (!entries_.is_current(flow) || !holders_.is_present(id)) {
            return false;
        }
        holders_.hold(flow.entry, id);
        entries_.hot(flow.entry).is_held = 1;
        return true;
    }
    /// From now on the holder gets no notice of this flow; others that hold it do. Harmless after
    /// the flow's end.
    void let_go(FlowHandle flow, HolderId id) noexcept {
        if (is_held_by(flow, id) && !holders_.let_go(flow.entry, id)) {
            entries_.hot(flow.entry).is_held = 0;
        }
    }
    [[nodiscard]] bool is_held_by(FlowHandle flow, HolderId id) const noexcept {
        return holders_.are_possible() && entries_.is_current(flow) &&
               holders_.is_held_by(flow.entry, id);
    }

    /// Adds packets that were counted outside, in the handle's direction. They all go into the
    /// record of the first of them.
    ///
    /// @param span  packet times of the first and the last of them
    /// @return      false: nothing was added, because the flow had ended by then, or that direction
    ///              has no packet in its record yet, or a holder calls this in a notice
    template <RecordSink<Record> Sink>
    [[nodiscard]] bool add(FlowHandle handle, const PacketCounts& counts, const PacketSpan& span,
                           Sink& sink) noexcept {
        if (!may_change(handle) || expire_if_due(handle.entry, span.start, sink) ||
            !update_.add_counted(entries_.hot(handle.entry), handle.is_swapped, counts, span)) {
            return false;
        }
        schedule(handle.entry);
        counters_.packets.add(counts.packets);
        counters_.octets.add(counts.octets);
        return true;
    }
    /// @return  false: the flow has ended before, or a holder calls this in a notice
    template <RecordSink<Record> Sink>
    [[nodiscard]] bool end(FlowHandle handle, FlowEndReason reason, Sink& sink) noexcept {
        const bool ends = may_change(handle);
        if (ends) {
            end(handle.entry, reason, sink);
        }
        return ends;
    }

private:
    friend class CacheClock;
    friend class CacheScan;
    using Entries = FlowEntries<kRecordBytes>;
    using Update = EntryUpdate<kRecordBytes, HookedGroups>;
    /// Entries that a new flow tests in a cache that is nearly full, or large and full.
    static constexpr std::size_t kGlance = 64;
    static constexpr std::size_t kVisits = 32;  ///< between two looks at the due times

    template <class Sink>
    [[gnu::always_inline]] void account(KeyedPacket& packet, BurstCounts& counts,
                                        Sink& sink) noexcept {
        counts.add(packet);
        HotEntry* const hot = packet.entry;
        if (hot == nullptr || !matcher_.is_same(entries_, *hot, packet) ||
            (options_.tcp_end && TcpEnd::concerns(*hot, packet)) ||
            !update_.add_if_it_goes_on(*hot, packet)) [[unlikely]] {
            counts.move_to(counters_, &packet + 1);
            account_change(packet, sink);
        }
    }
    /// Accounts a packet that may begin or end a record, or move a deadline; few do.
    template <class Sink>
    [[gnu::noinline]] void account_change(KeyedPacket& packet, Sink& sink) noexcept {
        EntryIndex entry = find(packet);
        bool goes_on =
            entry != kNoEntry && !CacheClock::end_if_over(*this, entry, packet.packet->clock, sink);
        if (goes_on && options_.tcp_end && update_.is_of_next(entries_.hot(entry), packet)) {
            end(entry, FlowEndReason::end_of_flow, sink);
            goes_on = false;
        }
        if (!goes_on) {
            entry = open(packet, sink);
            begun_ |= PacketMask{1} << static_cast<std::size_t>(&packet - burst_.data());
        }
        HotEntry& hot = entries_.hot(entry);
        packet.entry = &hot;
        // The deadline of a first packet is new, and a late packet makes the active deadline
        // earlier.
        bool moves_deadline = packet.packet->seen_at < update_.expanded(hot).start;
        if (update_.is_empty(hot)) {
            empty_entries_.remove(entry);
            counters_.flows_created.add();
            update_.begin_record(hot, packet);
        } else {
            update_.add(hot, packet);
        }
        moves_deadline |= options_.tcp_end && update_.note_tcp_end(hot, packet);
        if (moves_deadline) {
            schedule(entry);
        }
    }

    /// Ends an entry whose deadline is before `clock`.
    /// @return  true: the flow has ended
    template <class Sink>
    [[nodiscard]] bool expire_if_due(EntryIndex entry, Timestamp clock, Sink& sink) noexcept {
        HotEntry& hot = entries_.hot(entry);
        for (Deadline due = update_.expanded_deadline(hot); clock > due.at;
             due = update_.expanded_deadline(hot)) {
            end(entry, due.reason, sink);
            if (!hot.is_running()) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] EntryIndex find(const KeyedPacket& packet) const noexcept {
        return index_.find(packet.home, [&](EntryIndex entry) {
            return matcher_.is_same(entries_, entries_.hot(entry), packet);
        });
    }

    template <class Sink>
    [[nodiscard]] EntryIndex open(const KeyedPacket& packet, Sink& sink) noexcept {
        const Timestamp clock = packet.packet->clock;
        CacheClock::renew_base(*this, clock);
        make_room(clock, sink);
        const EntryIndex entry = entries_.allocate();
        FlowIndex::Place place{};
        while (!index_.insert(packet.home, entry, place)) {
            end(index_.any_in(packet.home), FlowEndReason::lack_of_resources, sink);
        }
        update_.open(entries_, entry, packet);
        HotEntry& hot = entries_.hot(entry);
        hot.bucket = place.bucket;
        static_assert(FlowIndex::kGroupBuckets <= 1U << 4U);
        hot.distance = place.distance & (FlowIndex::kGroupBuckets - 1);
        if (holders_.are_for_all()) [[unlikely]] {
            holders_.hold_for_all(entry);
            hot.is_held = 1;
        }
        return entry;
    }

    void schedule(EntryIndex entry) noexcept {
        const Timestamp deadline = update_.expanded_deadline(entries_.hot(entry)).at;
        due_.grow(entries_.used());
        due_.set(entry, deadline);
        search_.scheduled(deadline);
    }

    /// Ends the entries whose deadline has passed, and renews the due times of the others.
    template <class Sink>
    void visit(std::span<const EntryIndex> found, Timestamp now, Sink& sink) noexcept {
        for (const EntryIndex entry : found) {
            prefetch_to_write(&entries_.hot(entry));
        }
        for (const EntryIndex entry : found) {
            index_.prefetch_bucket(entries_.hot(entry).bucket);
            entries_.prefetch_deadline(entry);
        }
        for (const EntryIndex entry : found) {
            if (!CacheClock::end_if_over(*this, entry, now, sink)) {
                schedule(entry);
            }
        }
    }

    /// Ends the record of a running entry. The record leaves, or waits while the sink is full. Then
    /// the entry is free, unless the flow goes on.
    template <class Sink>
    void end(EntryIndex entry, FlowEndReason reason, Sink& sink) noexcept {
        HotEntry& hot = entries_.hot(entry);
        hot.end_reason = reason;
        bool has_left = true;
        if (update_.is_empty(hot)) {
            empty_entries_.remove(entry);
            update_.end_flow(hot);
        } else {
            counters_.ended[static_cast<std::size_t>(reason)].add();
            Record record;
            update_.write_expanded(entries_, entry, record);
            if (hot.is_held != 0) [[unlikely]] {
                holders_.tell_record_ends({entry, hot.generation}, reason,
                                          std::as_writable_bytes(std::span(&record, 1)));
            }
            has_left = entries_.first_waiting() == kNoEntry && sink.try_push(record);
            if (hot.is_held != 0) [[unlikely]] {
                holders_.tell_record_ended({entry, hot.generation}, reason,
                                           std::as_bytes(std::span(&record, 1)));
            }
            if (update_.outlives(reason) && (has_left || entries_.has_room())) {
                cut(entry, record, has_left);
                return;
            }
            update_.end_flow(hot);
            if (!has_left) {
                update_.keep_for_waiting(hot, record);
            }
        }
        index_.remove({.bucket = hot.bucket, .distance = hot.distance}, entry);
        due_.clear(entry);
        const FlowHandle flow{entry, hot.generation};
        hot.make_handles_stale();
        if (holders_.are_possible()) [[unlikely]] {
            tell_flow_ended(flow, reason);
        }
        if (has_left) {
            entries_.free(entry);
        } else {
            entries_.append_waiting(entry);
        }
    }
    /// A flow has ended: no packet of this burst and no holder has it any more. Never inlined, so
    /// that an end without holders is short.
    ///
    /// @param flow  its stale handle
    [[gnu::noinline]] void tell_flow_ended(FlowHandle flow, FlowEndReason reason) noexcept {
        HotEntry& hot = entries_.hot(flow.entry);
        // The entry may be another flow's, or the same one's again, before the burst is over.
        for (KeyedPacket& packet : burst_) {
            packet.entry = packet.entry == &hot ? nullptr : packet.entry;
        }
        if (hot.is_held != 0) {
            holders_.tell_flow_ended(flow, reason);
            hot.is_held = 0;
        }
    }
    /// From now on the packets of the last account() may be gone.
    void forget_burst() noexcept { burst_ = {}; }
    /// Whether a flow may be changed from outside: it runs, and the cache is not in the middle of
    /// an end.
    [[nodiscard]] bool may_change(FlowHandle handle) const noexcept {
        return is_running(handle) && !holders_.is_in_notice();
    }
    /// Puts an entry between records, after its record has left, or waits in an entry of its own.
    void cut(EntryIndex entry, const Record& record, bool has_left) noexcept {
        if (!has_left) {
            update_.keep_for_waiting(entries_.hot(entries_.set_apart(entry)), record);
        }
        update_.begin_pause(entries_.hot(entry));
        empty_entries_.insert(entry);
        schedule(entry);
    }

    /// Hands waiting records to the sink, the oldest first, until it is full or `budget` is spent.
    template <class Sink>
    void release_waiting(std::size_t budget, Sink& sink) noexcept {
        for (; entries_.first_waiting() != kNoEntry && budget > 0; --budget) {
            Record record;
            update_.write_waiting(entries_, entries_.first_waiting(), record);
            if (!sink.try_push(record)) {
                return;
            }
            entries_.free_first_waiting();
        }
    }

    /// Frees an entry. If none is free, hands on a waiting record, ends due flows, evicts, or (the
    /// sink is full) ends an entry between records, or loses the record that has waited longest.
    template <class Sink>
    void make_room(Timestamp now, Sink& sink) noexcept {
        if (entries_.taken() < entries_.capacity() - entries_.capacity() / 8) {
            return;
        }
        const bool had_room = entries_.has_room();
        release_waiting(had_room ? 0 : 1, sink);
        const bool only_glances = had_room || entries_.capacity() > kSmallCache;
        end_due(now, std::min(only_glances ? kGlance : kSmallCache, due_.walked()), sink);
        if (!entries_.has_room() && !has_waiting()) {
            const EntryIndex victim = eviction_.choose(entries_, update_, empty_entries_);
            // Its deadline comes first. If that only cuts the record, the flow is evicted as well.
            if (!expire_if_due(victim, now, sink)) {
                end(victim, FlowEndReason::lack_of_resources, sink);
            }
        }
        if (!entries_.has_room() && empty_entries_.count() > 0) {  // it has no record to lose
            end(empty_entries_.next(), FlowEndReason::lack_of_resources, sink);
        }
        if (!entries_.has_room()) {
            counters_.lost_ring_full.add(
                update_.expanded_tally(entries_.hot(entries_.first_waiting())));
            entries_.free_first_waiting();
        }
    }

    /// Ends due flows among the next `most` entries, until one entry is free. `most` is one walk at
    /// the most: no entry is found twice.
    template <class Sink>
    void end_due(Timestamp now, std::size_t most, Sink& sink) noexcept {
        if (!search_.is_worthwhile(now)) {
            return;
        }
        const DueTimes::Tick tick = due_.tick_of(now);
        const Timestamp not_found_before = due_.start_of(tick + 1) - Timestamp::duration{1};
        const std::size_t taken = entries_.taken();
        while (most > 0 && entries_.taken() >= taken) {
            std::array<EntryIndex, kVisits> found;
            const std::size_t before = most;
            const std::size_t count = due_.walk(search_.cursor, most, tick, found);
            visit(std::span(found).first(count), now, sink);
            search_.passed(before - most, not_found_before, due_.walked());
        }
    }

    FlowCacheOptions options_;
    KeyMatcher matcher_;
    CacheCounters& counters_;
    FlowIndex index_;
    Entries entries_;
    DueTimes due_;
    EmptyEntries empty_entries_;
    Update update_;
    DueTimes::Cursor walk_at_;
    WalkPace walk_pace_;
    DueSearch search_;
    CacheScan end_scan_;  ///< how far end_all() has come
    CacheClock clock_;
    FlowHolders holders_;
    std::span<KeyedPacket> burst_;  ///< of the last account()
    PacketMask begun_ = 0;          ///< of these: began their flow
    EvictionCursor eviction_;
    RecordLayout layout_;
};

}  // namespace tributary
