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

#include "flowcache/counter.hpp"
#include "flowcache/flow_line.hpp"
#include "flowcache/prefetch.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// Takes `count` elements from the front of `memory`, aligned; the rest stays in it.
template <class T>
[[nodiscard]] std::span<T> take(std::span<std::byte>& memory, std::size_t count) noexcept {
    void* at = memory.data();
    std::size_t left = memory.size();
    std::align(alignof(T), sizeof(T) * count, at, left);
    memory = std::span(static_cast<std::byte*>(at), left).subspan(sizeof(T) * count);
    return {static_cast<T*>(at), count};
}

/// Where the parts of each entry lie, whatever the size of its records.
struct EntryPlaces {
    std::byte* entries;
    const std::byte* ipv6;
    std::size_t entry_bytes;   ///< of line and groups
    bool has_tcp_groups_only;  ///< no group but tcp-analysis, which TCP alone touches

    [[nodiscard]] bool has_groups() const noexcept { return entry_bytes > sizeof(FlowLine); }
    /// Asks for what a packet of this entry will touch.
    ///
    /// @param kHasGroups  has_groups(), of which a loop over packets asks once
    /// @return            the entry's line
    template <bool kHasGroups>
    [[gnu::always_inline]] FlowLine* prefetch(EntryIndex entry,
                                              const ShortKey& key) const noexcept {
        std::byte* const at = entries + entry * (kHasGroups ? entry_bytes : sizeof(FlowLine));
        auto* const line = reinterpret_cast<FlowLine*>(at);
        prefetch_to_write(line);
        if (key.ip_version != 4) {
            prefetch_to_read(ipv6 + entry * sizeof(AddressPair));
        }
        if (!kHasGroups || (has_tcp_groups_only && key.protocol != ip_protocol::kTcp)) {
            return line;
        }
        for (std::size_t group = sizeof(FlowLine); group < entry_bytes; group += 64) {
            prefetch_to_write(at + group);
        }
        return line;
    }
};

/// The entries of one cache, in two arrays that one index leads into:
///
///     entries[i]  64 bytes of line, and whole cache lines of groups, as the record size asks for
///     ipv6[i]     32 bytes   written and read for IPv6 flows only
///
/// So addresses that a flow doesn't have are never touched, and the kernel never has to find memory
/// for them. Groups lie behind their line, in the same memory page: with an array of their own,
/// analysed TCP took 1.1 times as long at a million flows.
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

    [[nodiscard]] static std::size_t bytes_needed(std::size_t entries) noexcept {
        return entries * (sizeof(Entry) + sizeof(AddressPair) + sizeof(EntryIndex)) +
               3 * alignof(Entry);
    }

    /// @param memory  bytes_needed() bytes are taken from its front
    /// @param gauge   told of taken() whenever it changes; outlives the entries
    FlowEntries(std::span<std::byte>& memory, std::size_t entries, Counter& gauge) noexcept
        : gauge_(gauge),
          entries_(take<Entry>(memory, entries)),
          ipv6_(take<AlignedPair>(memory, entries)),
          free_(take<EntryIndex>(memory, entries)) {}

    [[nodiscard]] FlowLine& line(EntryIndex entry) const noexcept { return entries_[entry].line; }
    [[nodiscard]] AddressPair& ipv6(EntryIndex entry) const noexcept { return ipv6_[entry].pair; }
    [[nodiscard]] EntryIndex index_of(const FlowLine& line) const noexcept {
        return static_cast<EntryIndex>(reinterpret_cast<const Entry*>(&line) - entries_.data());
    }
    /// @param line  of an entry
    [[nodiscard]] static GroupBytes groups(FlowLine& line) noexcept {
        return GroupBytes(group_bytes(line));
    }
    /// @param from  the first group's offset in a record
    static void clear_groups(FlowLine& line, std::uint16_t from) noexcept {
        const std::size_t kept = from - sizeof(FlowRecordCore);
        std::memset(group_bytes(line) + kept, 0, kGroupBytes - kept);
    }
    [[nodiscard]] EntryPlaces places(const RecordLayout& layout) const noexcept {
        static_assert(sizeof(AlignedPair) == sizeof(AddressPair));
        return {reinterpret_cast<std::byte*>(entries_.data()),
                reinterpret_cast<const std::byte*>(ipv6_.data()), sizeof(Entry),
                layout.groups() == FieldGroups{.tcp_analysis = true} && layout.reverse_at == 0};
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
        line(used_).generation = 0;
        return used_++;
    }
    /// @param packet  of the entry's flow
    [[nodiscard]] FlowHandle handle(EntryIndex entry, const KeyedPacket& packet) const noexcept {
        const FlowLine& line = entries_[entry].line;
        return {entry, line.generation, line.is_reverse(packet)};
    }
    [[nodiscard]] bool is_running(FlowHandle handle) const noexcept {
        return handle.entry < used_ && line(handle.entry).is_running() &&
               line(handle.entry).generation == handle.generation;
    }
    /// Lets the record of a running entry wait in an entry of its own; has_room() was true.
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

    // The records that wait are linked by their lines, which need no bucket any more.
    [[nodiscard]] EntryIndex first_waiting() const noexcept { return first_waiting_; }
    void append_waiting(EntryIndex entry) noexcept {
        line(entry).bucket = kNoEntry;
        if (first_waiting_ == kNoEntry) {
            first_waiting_ = entry;
        } else {
            line(last_waiting_).bucket = entry;
        }
        last_waiting_ = entry;
    }
    /// Frees the first waiting one.
    void free_first_waiting() noexcept {
        const EntryIndex entry = first_waiting_;
        first_waiting_ = line(entry).bucket;
        free(entry);
    }

    /// The record of an entry; of a biflow as if it were a uniflow with the canonical key.
    void write_record(EntryIndex entry, Record& record) const noexcept {
        const FlowLine& line = entries_[entry].line;
        record.core = {.key = whole_key(line.key, ipv6_[entry].pair),
                       .tcp_control_bits = line.tcp_control_bits,
                       .ip_class_of_service = line.ip_class_of_service,
                       .end_reason = line.end_reason,
                       .packets = line.packets,
                       .octets = line.octets,
                       .start = line.start,
                       .end = line.end};
        if constexpr (kGroupBytes != 0) {
            std::memcpy(record.groups.data(), group_bytes(entries_[entry].line),
                        record.groups.size());
        }
    }

private:
    struct alignas(32) AlignedPair {
        AddressPair pair;
    };
    struct WithoutGroups {
        FlowLine line;
    };
    struct alignas(kGroupBytes <= sizeof(FlowLine) ? 2 * sizeof(FlowLine)
                                                   : sizeof(FlowLine)) WithGroups {
        FlowLine line;
        std::array<std::byte, std::max<std::size_t>(kGroupBytes, 1)> groups;
    };
    using Entry = std::conditional_t<kGroupBytes == 0, WithoutGroups, WithGroups>;

    /// Makes a free entry one like another; handles of it stay stale.
    void copy(EntryIndex from, EntryIndex to) const noexcept {
        Entry entry = entries_[from];
        entry.line.generation = line(to).generation;
        entries_[to] = entry;
        ipv6_[to] = ipv6_[from];
    }
    /// Without groups: where they would be, of which nothing is read.
    [[nodiscard]] static std::byte* group_bytes(FlowLine& line) noexcept {
        return reinterpret_cast<std::byte*>(&line) + sizeof(FlowLine);
    }

    Counter& gauge_;
    std::span<Entry> entries_;
    std::span<AlignedPair> ipv6_;
    std::span<EntryIndex> free_;
    std::size_t free_count_ = 0;
    EntryIndex used_ = 0;
    EntryIndex first_waiting_ = kNoEntry;
    EntryIndex last_waiting_ = kNoEntry;
};

}  // namespace tributary
