// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "flowcache/hot_entry.hpp"
#include "flowcache/record/counter.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/prefetch.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// Whether records are of uniflows with the analysis of TCP and no other group, so that flows may
/// become CompactTcp.
[[nodiscard]] constexpr bool is_tcp_analysis_alone(const RecordLayout& layout) noexcept {
    return layout.groups() == groups_of<TcpAnalysisGroup>() && layout.reverse_at == 0;
}

/// Where the groups of a cache's entries lie. Mostly behind each HotEntry, in the same memory page,
/// because a packet that touches the HotEntry touches them:
///
///     HotEntry groups   HotEntry groups   HotEntry groups ..
///
/// But where packets touch the HotEntry alone, those of a compact flow or of a table whose packets
/// change no group, all groups lie behind all of these:
///
///     HotEntry HotEntry HotEntry ..   group group group ..
///
/// so that a memory page has twice as many of what packets touch. Analysed segments of a million
/// undisturbed flows take 1.3 times as long with the first order (single runs); flows with groups
/// that each packet touches 1.1 times as long with the second.
///
/// @tparam kGroupBytes  of one entry, 0 too
template <std::size_t kGroupBytes>
class GroupPlace {
public:
    /// @param entries      of the cache
    /// @param are_touched  whether packets of running flows touch groups
    GroupPlace(const RecordLayout& layout, std::size_t entries, bool are_touched = true) noexcept
        : is_apart_(kMayBeApart && (is_tcp_analysis_alone(layout) || !are_touched)),
          distance_(is_apart_ ? entries * sizeof(HotEntry) : sizeof(HotEntry)) {}

    /// Whether they are not behind their HotEntries.
    [[nodiscard]] bool is_apart() const noexcept { return kMayBeApart && is_apart_; }
    /// Bytes from one HotEntry to the next.
    [[nodiscard]] std::size_t stride() const noexcept {
        return is_apart() ? sizeof(HotEntry) : sizeof(Entry);
    }
    /// Of the HotEntry that begins so many bytes behind the first one. No division but by
    /// constants.
    [[nodiscard]] std::size_t index(std::size_t bytes) const noexcept {
        return is_apart() ? bytes / sizeof(HotEntry) : bytes / sizeof(Entry);
    }
    /// Without groups: where they would be; nothing is read there.
    [[nodiscard]] GroupBytes of(HotEntry& hot) const noexcept { return GroupBytes(begin(hot)); }
    /// @param from  the first group's offset in a record
    void clear(HotEntry& hot, std::uint16_t from) const noexcept {
        const std::size_t kept = from - sizeof(FlowRecordCore);
        std::memset(begin(hot) + kept, 0, kGroupBytes - kept);
    }
    [[nodiscard]] std::byte* begin(HotEntry& hot) const noexcept {
        return reinterpret_cast<std::byte*>(&hot) + (kMayBeApart ? distance_ : sizeof(HotEntry));
    }

    struct WithoutGroups {
        HotEntry hot;
    };
    struct alignas(kGroupBytes <= sizeof(HotEntry) ? 2 * sizeof(HotEntry)
                                                   : sizeof(HotEntry)) WithGroups {
        HotEntry hot;
        std::array<std::byte, std::max<std::size_t>(kGroupBytes, 1)> groups;
    };
    /// The memory that one entry takes, in either order.
    using Entry = std::conditional_t<kGroupBytes == 0, WithoutGroups, WithGroups>;

private:
    static constexpr bool kMayBeApart = kGroupBytes == sizeof(HotEntry);

    bool is_apart_;
    std::size_t distance_;  ///< from a HotEntry to its groups
};

/// Takes `count` elements from the front of `memory`, aligned; the rest stays in it.
template <class T>
[[nodiscard]] std::span<T> take(std::span<std::byte>& memory, std::size_t count) noexcept {
    void* at = memory.data();
    std::size_t left = memory.size();
    std::align(alignof(T), sizeof(T) * count, at, left);
    memory = std::span(static_cast<std::byte*>(at), left).subspan(sizeof(T) * count);
    return {static_cast<T*>(at), count};
}

/// Where the parts of each entry lie, for any record size.
struct EntryPlaces {
    std::byte* hot_entries;
    const std::byte* ipv6;
    std::size_t stride;  ///< from one HotEntry to the next, over groups that packets touch

    [[nodiscard]] bool has_groups() const noexcept { return stride > sizeof(HotEntry); }
    /// Prefetches early what each packet of this entry touches, into the second-level cache.
    /// BurstPrefetch prefetches the HotEntry again, and groups that are apart.
    ///
    /// @param kHasGroups  has_groups(), which a loop over packets reads once
    /// @return            the entry's HotEntry
    template <bool kHasGroups>
    [[gnu::always_inline]] HotEntry* prefetch(EntryIndex entry,
                                              const ShortKey& key) const noexcept {
        std::byte* const at = hot_entries + entry * (kHasGroups ? stride : sizeof(HotEntry));
        auto* const hot = reinterpret_cast<HotEntry*>(at);
        prefetch_for_later(hot);
        if (key.ip_version != 4) {
            prefetch_for_later(ipv6 + entry * sizeof(AddressPair));
        }
        if constexpr (kHasGroups) {
            for (std::size_t group = sizeof(HotEntry); group < stride; group += 64) {
                prefetch_for_later(at + group);
            }
        }
        return hot;
    }
};

/// The entries of one cache, in arrays with one index:
///
///     HotEntry  64 bytes
///     groups    whole cache lines, as the record size requires; GroupPlace defines where
///     ipv6      32 bytes in an array of their own, written and read for IPv6 flows only
///
/// So addresses that a flow doesn't have are never touched, and the kernel never has to find memory
/// for them.
///
/// An entry is  never used   its index is not below used()
///              free         in the stack of free ones
///              running      a flow's; end_reason is `none`
///              waiting      its record has ended, and waits to be handed on, the oldest end first
template <std::size_t kRecordBytes>
class FlowEntries {
public:
    using Record = FlowRecord<kRecordBytes>;
    static constexpr std::size_t kGroupBytes = kRecordBytes - sizeof(FlowRecordCore);
    using Groups = GroupPlace<kGroupBytes>;

    [[nodiscard]] static std::size_t bytes_needed(std::size_t entries) noexcept {
        return entries * (sizeof(Entry) + sizeof(AddressPair) + sizeof(EntryIndex)) +
               3 * alignof(Entry);
    }

    /// @param memory          bytes_needed() bytes are taken from its front
    /// @param touches_groups  whether packets of running flows do
    /// @param gauge           set to taken() whenever that changes; outlives the entries
    FlowEntries(std::span<std::byte>& memory, std::size_t entries, const RecordLayout& layout,
                bool touches_groups, Counter& gauge) noexcept
        : gauge_(gauge),
          place_(layout, entries, touches_groups),
          entries_(take<Entry>(memory, entries)),
          ipv6_(take<AlignedPair>(memory, entries)),
          free_(take<EntryIndex>(memory, entries)) {}

    [[nodiscard]] HotEntry& hot(EntryIndex entry) const noexcept {
        return *reinterpret_cast<HotEntry*>(first_hot() + entry * place_.stride());
    }
    [[nodiscard]] AddressPair& ipv6(EntryIndex entry) const noexcept { return ipv6_[entry].pair; }
    [[nodiscard]] EntryIndex index_of(const HotEntry& hot) const noexcept {
        const auto bytes = reinterpret_cast<const std::byte*>(&hot) - first_hot();
        return static_cast<EntryIndex>(place_.index(static_cast<std::size_t>(bytes)));
    }
    /// Prefetches what a test of an entry's deadline touches beside its HotEntry.
    void prefetch_deadline(EntryIndex entry) const noexcept {
        if (hot(entry).is_compact != 0) {
            prefetch_to_write(place_.begin(hot(entry)));
        }
    }
    /// Where each entry's groups are, relative to its HotEntry.
    [[nodiscard]] const Groups& groups() const noexcept { return place_; }
    [[nodiscard]] EntryPlaces places() const noexcept {
        static_assert(sizeof(AlignedPair) == sizeof(AddressPair));
        return {first_hot(), reinterpret_cast<const std::byte*>(ipv6_.data()), place_.stride()};
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return entries_.size(); }
    /// Entries from here on were never used.
    [[nodiscard]] EntryIndex used() const noexcept { return used_; }
    [[nodiscard]] std::size_t taken() const noexcept { return used_ - free_count_; }
    [[nodiscard]] bool has_room() const noexcept { return taken() < capacity(); }

    /// @return  an entry that neither runs nor waits; has_room() was true
    [[nodiscard]] EntryIndex allocate() noexcept {
        gauge_.set(taken() + 1);
        if (free_count_ > 0) {
            --free_count_;
            return free_[free_count_];
        }
        hot(used_).generation = 0;
        return used_++;
    }
    /// @param packet  of the entry's flow
    [[nodiscard]] FlowHandle handle(EntryIndex entry, const KeyedPacket& packet) const noexcept {
        const HotEntry& hot = this->hot(entry);
        return {entry, hot.generation, packet.is_swapped};
    }
    [[nodiscard]] bool is_running(FlowHandle handle) const noexcept {
        return is_current(handle) && hot(handle.entry).is_running();
    }
    /// Whether the entry is that of the handle's flow, which runs, or one of whose records ends
    /// now.
    [[nodiscard]] bool is_current(FlowHandle handle) const noexcept {
        return handle.entry < used_ && hot(handle.entry).generation == handle.generation;
    }
    /// Moves the record of a running entry to an entry of its own, to wait there; has_room() was
    /// true.
    /// @return  that entry
    EntryIndex set_apart(EntryIndex entry) noexcept {
        const EntryIndex apart = allocate();
        copy(entry, apart);
        append_waiting(apart);
        return apart;
    }
    void free(EntryIndex entry) noexcept {
        free_[free_count_] = entry;
        ++free_count_;
        gauge_.set(taken());
    }

    // The records that wait are linked by their `bucket`, which they need no more.
    [[nodiscard]] EntryIndex first_waiting() const noexcept { return first_waiting_; }
    void append_waiting(EntryIndex entry) noexcept {
        hot(entry).bucket = kNoEntry;
        if (first_waiting_ == kNoEntry) {
            first_waiting_ = entry;
        } else {
            hot(last_waiting_).bucket = entry;
        }
        last_waiting_ = entry;
    }
    /// Frees the first waiting one.
    void free_first_waiting() noexcept {
        const EntryIndex entry = first_waiting_;
        first_waiting_ = hot(entry).bucket;
        free(entry);
    }

    /// The record of an entry; of a biflow as if it were a uniflow with the canonical key.
    ///
    /// @param counts  of that entry
    void write_record(EntryIndex entry, const EntryCounts& counts, Record& record) const noexcept {
        const HotEntry& hot = this->hot(entry);
        record.core = {.key = whole_key(hot.key, ipv6_[entry].pair),
                       .tcp_control_bits = hot.tcp_control_bits,
                       .ip_class_of_service = hot.ip_class_of_service,
                       .end_reason = hot.end_reason,
                       .packets = counts.packets,
                       .octets = counts.octets,
                       .start = counts.start,
                       .end = hot.end};
        if constexpr (kGroupBytes != 0) {
            std::memcpy(record.groups.data(), place_.begin(this->hot(entry)), record.groups.size());
        }
    }

private:
    struct alignas(32) AlignedPair {
        AddressPair pair;
    };
    using Entry = typename Groups::Entry;

    [[nodiscard]] std::byte* first_hot() const noexcept {
        return reinterpret_cast<std::byte*>(entries_.data());
    }
    /// Copies one entry to a free one; handles of the free one stay stale.
    void copy(EntryIndex from, EntryIndex to) const noexcept {
        const auto generation = hot(to).generation;
        hot(to) = hot(from);
        hot(to).generation = generation & HotEntry::kGenerations;
        hot(to).is_held = 0;
        std::memcpy(place_.begin(hot(to)), place_.begin(hot(from)), kGroupBytes);
        if (hot(from).key.ip_version != 4) {
            ipv6_[to] = ipv6_[from];
        }
    }

    Counter& gauge_;
    Groups place_;
    std::span<Entry> entries_;
    std::span<AlignedPair> ipv6_;
    std::span<EntryIndex> free_;
    std::size_t free_count_ = 0;
    EntryIndex used_ = 0;
    EntryIndex first_waiting_ = kNoEntry;
    EntryIndex last_waiting_ = kNoEntry;
};

}  // namespace tributary
