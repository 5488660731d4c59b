// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "flowcache/biflow_entry.hpp"
#include "flowcache/deadlines.hpp"
#include "flowcache/declared_key.hpp"
#include "flowcache/flow_entries.hpp"
#include "flowcache/group_hooks.hpp"
#include "flowcache/hooked_groups.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/cache_counters.hpp"
#include "flowcache/record/flow_direction.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_masks.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/record_update.hpp"
#include "flowcache/tcp_end.hpp"

namespace tributary {

/// Whether packets of running flows touch the groups of their entries.
[[nodiscard]] inline bool packets_touch_groups(const FlowCacheOptions& options,
                                               const RecordLayout& layout) noexcept {
    const DeclaredKey declared(layout, options.key);
    return layout.reverse_at != 0 || has_groups_to_add_to(layout) ||
           layout.groups() - kGroupsWithState != layout.groups() ||
           (declared.is_there() && !declared.is_in_short_key());
}

/// What packets change in an entry, and which record is written from it. The table around it finds
/// entries, and decides when they end. The entry of a biflow has
///
///     HotEntry       the counts of the direction from the initiator, and the times of both
///     groups         the group `reverse`, the times of the direction from the initiator, and each
///                    chosen group for either direction
///
/// A direction begins with its first packet, and is zeros until then.
///
/// An entry without a packet gives no record. It was just opened, or is between records: its record
/// has ended by the active timeout, and no packet has come since. It stays for one idle timeout as
/// a running flow, whose handle stays valid and whose initiator is known. EvictionCursor defines
/// how long it stays in a full cache.
///
/// A group with hooks (GroupHooks) has its state in the entry, until its record is written.
///
/// @tparam HookedGroups  the groups with hooks
/// @thread  the thread that owns the cache; nothing allocates
template <std::size_t kRecordBytes, class HookedGroups = StandardHookedGroups>
class EntryUpdate {
public:
    using Entries = FlowEntries<kRecordBytes>;
    using Hooks = typename HookedGroups::template Hooks<Entries::kGroupBytes>;

    /// @param memory  Hooks::bytes_needed() zeros are taken from its front
    EntryUpdate(const FlowCacheOptions& options, const RecordLayout& layout,
                const typename Entries::Groups& groups, std::span<std::byte>& memory,
                CacheCounters& counters) noexcept
        : options_(options),
          masks_(options.key),
          timeouts_(options),
          layout_(layout),
          reverse_layout_(layout.reversed()),
          direction_places_(layout),
          declared_(layout, options.key),
          starts_groups_(has_groups_to_start(layout)),
          adds_to_groups_(has_groups_to_add_to(layout)),
          groups_(groups),
          hooks_(HookedCache<Entries::kGroupBytes>{options, layout, groups, counters}, memory),
          has_groups_(starts_groups_ || hooks_.is_any_chosen()) {}

    void set_timeouts(const Timeouts& timeouts) noexcept {
        timeouts_ = timeouts;
        hooks_.set_timeouts(timeouts);
    }

    /// Opens an entry for a packet's flow, without a record.
    void open(const Entries& entries, EntryIndex entry, const KeyedPacket& first) noexcept {
        HotEntry& hot = entries.hot(entry);
        hot.key = first.key;
        hot.is_compact = 0;  // before its counts are asked for
        clear_counts(hot, expanded(hot));
        hot.was_cut = 0;
        hot.end_was_seen = 0;
        hot.starts_swapped = 0;
        hot.finished = 0;
        if (hot.key.ip_version != 4) {
            entries.ipv6(entry) = masks_.ipv6_addresses(*first.fields, first.is_swapped);
        }
        if (is_biflow()) {
            const PacketFields& fields = *first.fields;
            const bool from_initiator =
                is_initiator(fields, options_.initiator_by_port) ||
                !masks_.can_be_paired(fields.protocol) ||
                (has_equal_ends(whole_key(hot.key, entries.ipv6(entry))) &&
                 (!declared_.is_there() || declared_.has_equal_sides(first)));
            hot.starts_swapped = first.is_swapped == from_initiator ? 1 : 0;
            clear_directions(hot, biflow_direction(fields, options_.initiator_by_port),
                             swapped(tunnel_of(fields), !from_initiator));
        }
        if (declared_.is_there()) {
            declared_.write(first, hot.starts_swapped != 0, declared_.in(groups_.of(hot)));
        }
        hooks_.begin(hot);
    }
    /// Begins the record of an empty entry with its first packet, and adds that.
    void begin_record(HotEntry& hot, const KeyedPacket& first) noexcept {
        const Timestamp seen_at = first.packet->seen_at;
        const Timestamp before = hot.was_cut != 0 ? hot.end : seen_at;
        EntryCounts& counts = expanded(hot);
        counts.start = seen_at;
        hot.end = seen_at;
        if (!is_biflow()) {  // of a biflow each direction begins with its own first packet
            hot.ip_class_of_service = first.fields->ip_class_of_service;
            if (starts_groups()) {
                start_groups(groups_.of(hot), layout_, first);
            }
        }
        add(hot, counts, first, before);
    }

    [[nodiscard]] const Hooks& hooks() const noexcept { return hooks_; }

    /// Adds a packet of a running entry if it changes nothing but what it adds: its record has
    /// begun, no later than the packet, and its deadline has not passed, which is that of a
    /// record.
    /// @return  false: it may change more, and nothing was added
    [[nodiscard, gnu::always_inline]] bool add_if_it_goes_on(HotEntry& hot,
                                                             const KeyedPacket& packet) noexcept {
        if (hooks_.may_be_compact() && hot.is_compact != 0) {
            if (hooks_.add_compact(hot, packet)) [[likely]] {
                return true;
            }
        }
        EntryCounts& counts = expanded(hot);
        if (packet.packet->seen_at < counts.start ||  // each packet of an empty entry is
            packet.packet->clock > deadline_of(counts.start, hot.end, timeouts_).at) {
            return false;
        }
        add(hot, counts, packet, hot.end);
        return true;
    }
    /// The counts of an entry, which is expanded first; then its states are complete too. No other
    /// function gives access to the counts. They are valid until add() makes the entry compact.
    [[nodiscard, gnu::always_inline]] EntryCounts& expanded(HotEntry& hot) const noexcept {
        if (hooks_.may_be_compact() && hot.is_compact != 0) {
            hooks_.expand(hot);
        }
        return hot.counts.counts_;
    }

    [[gnu::always_inline]] void add(HotEntry& hot, const KeyedPacket& packet) noexcept {
        EntryCounts& counts = expanded(hot);
        add(hot, counts, packet, hot.end);
    }
    /// @param counts  from expanded()
    /// @param before  of a uniflow: the time of the packet before, or the packet's own
    [[gnu::always_inline]] void add(HotEntry& hot, EntryCounts& counts, const KeyedPacket& packet,
                                    Timestamp before) noexcept {
        // Read once: the compiler must assume that stores to the HotEntry change it.
        const Timestamp seen_at = packet.packet->seen_at;
        if (is_biflow()) {
            widen(hot, counts, seen_at, seen_at);
            if ((packet.fields->tcp_control_bits & (tcp_flag::kSyn | tcp_flag::kFin)) != 0)
                [[unlikely]] {
                note_syn_or_fin(hot, packet);
            }
            add_to_direction(hot, packet, seen_at);
            return;
        }
        // The hooks come last, so that nothing has to be kept for later across them.
        add_counts(hot, counts, counts_of(packet));
        widen(hot, counts, seen_at, seen_at);
        if (adds_to_groups()) {
            add_to_groups(groups_.of(hot), layout_, packet);
        }
        hooks_.packet(hot, false, packet, before);
    }

    /// Adds what a program outside has counted of one direction.
    ///
    /// @return  false: nothing was added, because the record or that direction has no packet of its
    ///          own yet
    [[nodiscard]] bool add_counted(HotEntry& hot, bool is_swapped, const PacketCounts& counts,
                                   const PacketSpan& span) const noexcept {
        EntryCounts& own = expanded(hot);
        if (is_biflow()) {
            if (!directions(hot).add_counted(hot.is_reverse(is_swapped), counts, span)) {
                return false;
            }
        } else if (own.packets == 0) {
            return false;
        } else {
            add_counts(hot, own, counts);
        }
        widen(hot, own, span.start, span.end);
        return true;
    }

    // With `tcp_end`: TcpEnd.
    [[nodiscard]] bool note_tcp_end(HotEntry& hot, const KeyedPacket& packet) const noexcept {
        return TcpEnd::note(hot, packet, is_biflow());
    }
    [[nodiscard]] bool is_of_next(HotEntry& hot, const KeyedPacket& packet) const noexcept {
        return TcpEnd::is_of_next(hot, is_empty(hot), packet);
    }

    // These expand the entry.
    [[nodiscard]] Deadline expanded_deadline(HotEntry& hot) const noexcept {
        const Timestamp start = expanded(hot).start;
        if (is_empty(hot)) {  // only silence ends an entry without a packet
            return {hot.end + timeouts_.idle, FlowEndReason::idle_timeout};
        }
        if (hot.end_was_seen != 0) [[unlikely]] {
            return deadline_behind_end(start, hot.end, timeouts_);
        }
        return deadline_of(start, hot.end, timeouts_);
    }

    /// Packets and octets of a record, of both directions.
    [[nodiscard]] RecordTally expanded_tally(HotEntry& hot) const noexcept {
        const EntryCounts& counts = expanded(hot);
        RecordTally tally{1, counts.packets, counts.octets};
        if (is_biflow()) {
            const ReverseGroup& reverse = reverse_of(hot);
            tally.packets += reverse.packets;
            tally.octets += reverse.octets;
        }
        return tally;
    }
    /// Whether the entry has no packet: it was just opened, or is between records. A compact entry
    /// has packets, and stays compact.
    [[nodiscard]] bool is_empty(HotEntry& hot) const noexcept {
        return hot.is_compact == 0 && hot.counts.counts_.packets == 0 &&
               (!is_biflow() || reverse_of(hot).packets == 0);
    }

    /// The record of an entry that runs, or ends now.
    void write_expanded(const Entries& entries, EntryIndex entry,
                        typename Entries::Record& record) const noexcept {
        write_waiting(entries, entry, record);
        const GroupBytes groups(reinterpret_cast<std::byte*>(&record) + sizeof(FlowRecordCore));
        hooks_.write(entries.hot(entry), groups);
        if (starts_groups()) {
            finish_groups(groups, layout_);
        }
        if (declared_.is_there()) {
            declared_.complete(groups);
        }
    }
    /// The flow of an entry has ended: its states are free.
    void end_flow(HotEntry& hot) noexcept { hooks_.flow_end(hot); }
    /// Puts the groups of a record, from write_expanded(), into the entry in which it waits. That
    /// has no states any more.
    void keep_for_waiting(HotEntry& hot, const typename Entries::Record& record) const noexcept {
        if constexpr (Entries::kGroupBytes != 0) {
            std::memcpy(groups_.begin(hot), record.groups.data(), Entries::kGroupBytes);
        }
    }
    /// The record of an entry that waits.
    void write_waiting(const Entries& entries, EntryIndex entry,
                       typename Entries::Record& record) const noexcept {
        HotEntry& hot = entries.hot(entry);
        entries.write_record(entry, expanded(hot), record);
        if (declared_.is_in_short_key()) {
            record.core.key =
                whole_key(declared_.in_short_key().without_octets(hot.key), entries.ipv6(entry));
        }
        if (is_biflow()) {
            const ReverseGroup& reverse = reverse_of(hot);
            const PacketSpan& span = forward_span(hot);
            record.core.key = swapped(record.core.key, hot.starts_swapped != 0);
            // Without a packet a direction has no times; those of a record are never unset.
            record.core.start = record.core.packets != 0 ? span.start : reverse.start;
            record.core.end = record.core.packets != 0 ? span.end : reverse.start;
            if (reverse.packets == 0) {  // of the record before
                record.template group<ReverseGroup>(layout_.reverse_at).end = {};
            }
        }
    }

    /// Whether a flow goes on in an entry between records after its record has ended for this
    /// reason.
    [[nodiscard]] static bool outlives(FlowEndReason reason) noexcept {
        return reason == FlowEndReason::active_timeout;
    }
    void begin_pause(HotEntry& hot) noexcept {
        clear_counts(hot, expanded(hot));
        hot.was_cut = 1;
        hot.end_was_seen = 0;
        if (is_biflow()) {
            const GroupBytes groups = groups_.of(hot);
            const std::uint16_t at = layout_.at<TunnelGroup>();
            const TunnelGroup tunnel = at != 0 ? groups.get<TunnelGroup>(at) : TunnelGroup{};
            const Timestamp forward_end = forward_span(hot).end;
            const Timestamp reverse_end = reverse_of(hot).end;
            clear_directions(hot, reverse_of(hot).biflow_direction, tunnel);
            forward_span(hot).end = forward_end;  // the next packets follow on them
            reverse_of(hot).end = reverse_end;
        }
        hooks_.record_end(hot);
    }

private:
    // Of groups beside those with hooks: whether there is one that records begin and end with, and
    // one to which each packet is added.
    [[nodiscard]] bool starts_groups() const noexcept {
        return Entries::kGroupBytes > 0 && starts_groups_;
    }
    [[nodiscard]] bool adds_to_groups() const noexcept {
        return Entries::kGroupBytes > 0 && adds_to_groups_;
    }
    [[nodiscard]] bool is_biflow() const noexcept {
        if constexpr (Entries::kGroupBytes < sizeof(ReverseGroup)) {
            return false;
        } else {
            return layout_.reverse_at != 0;
        }
    }
    /// BiflowEntry::note_syn_or_fin(). An entry that turns has the octets of a declared key in its
    /// new direction then; the other direction does not have them (DeclaredKey::complete()).
    [[gnu::noinline]] void note_syn_or_fin(HotEntry& hot,
                                           const KeyedPacket& packet) const noexcept {
        const bool started_swapped = hot.starts_swapped != 0;
        directions(hot).note_syn_or_fin(packet);
        const bool starts_swapped = hot.starts_swapped != 0;
        if (starts_swapped != started_swapped && declared_.is_there()) {
            declared_.write(packet, starts_swapped, declared_.in(groups_.of(hot)));
        }
    }
    /// Adds a packet to its direction of a biflow, which begins with its first one. Not inlined, so
    /// that packets of uniflows have all registers. What groups need is found again for them, so
    /// that this has registers enough without saving any.
    [[gnu::noinline]] void add_to_direction(HotEntry& hot, const KeyedPacket& packet,
                                            Timestamp seen_at) noexcept {
        const DirectionCounts direction = direction_places_.of(hot, hot.is_reverse(packet));
        const Timestamp before = direction.end;
        if (direction.packets == 0) [[unlikely]] {
            direction.ip_class_of_service = packet.fields->ip_class_of_service;
            direction.start = seen_at;
            direction.end = seen_at;
        }
        add_counts(direction, counts_of(packet));
        widen(direction, seen_at, seen_at);
        if (has_groups_) {
            add_to_groups_of_direction(hot, packet, before);
        }
    }
    /// @param packet  was just counted
    /// @param before  the latest time of its direction's packets before
    [[gnu::noinline]] void add_to_groups_of_direction(HotEntry& hot, const KeyedPacket& packet,
                                                      Timestamp before) noexcept {
        const bool is_reverse = hot.is_reverse(packet);
        if (starts_groups()) {
            const RecordLayout& layout = is_reverse ? reverse_layout_ : layout_;
            if (direction_places_.of(hot, is_reverse).packets == 1) [[unlikely]] {
                start_groups(groups_.of(hot), layout, packet);
            }
            add_to_groups(groups_.of(hot), layout, packet);
        }
        hooks_.packet(hot, is_reverse, packet, before);
    }
    [[nodiscard]] BiflowEntry directions(HotEntry& hot) const noexcept {
        return {hot, expanded(hot), groups_.of(hot), layout_};
    }
    [[nodiscard]] PacketSpan& forward_span(HotEntry& hot) const noexcept {
        return directions(hot).forward_span();
    }
    [[nodiscard]] ReverseGroup& reverse_of(HotEntry& hot) const noexcept {
        return directions(hot).reverse();
    }

    /// Clears both directions of a biflow, so that they have no packet. Only the states of groups
    /// with hooks stay, which lie before group `reverse`, and the octets of a declared key.
    ///
    /// @param tunnel  as packets from the initiator have it. It is set before they come, because it
    ///                may be part of the key.
    void clear_directions(HotEntry& hot, BiflowDirection direction,
                          const TunnelGroup& tunnel) const noexcept {
        if (declared_.is_there()) {
            std::byte* const in_key = declared_.in(groups_.of(hot));
            const DeclaredKey::Octets octets = declared_.copy(in_key);
            groups_.clear(hot, layout_.reverse_at);
            declared_.restore(octets, in_key);
        } else {
            groups_.clear(hot, layout_.reverse_at);
        }
        reverse_of(hot).biflow_direction = direction;
        if (layout_.at<TunnelGroup>() != 0) {
            groups_.of(hot).template get<TunnelGroup>(layout_.at<TunnelGroup>()) = tunnel;
        }
    }

    FlowCacheOptions options_;
    KeyMasks masks_;
    Timeouts timeouts_;
    RecordLayout layout_;
    RecordLayout reverse_layout_;  ///< leads to the groups of a biflow's other direction
    DirectionPlaces direction_places_;
    DeclaredKey declared_;
    bool starts_groups_;
    bool adds_to_groups_;
    typename Entries::Groups groups_;
    Hooks hooks_;
    bool has_groups_;  ///< whether packets change more than their direction's counts and times
};

}  // namespace tributary
