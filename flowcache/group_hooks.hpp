// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "flowcache/deadlines.hpp"
#include "flowcache/flow_entries.hpp"
#include "flowcache/hot_entry.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/cache_counters.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// What the hooks of a group may use of their cache, which outlives them.
///
/// @tparam kGroupBytes  of one entry's groups
template <std::size_t kGroupBytes>
struct HookedCache {
    const FlowCacheOptions& options;
    const RecordLayout& layout;
    const GroupPlace<kGroupBytes>& groups;
    CacheCounters& counters;
};

/// The hooks of a field group that keeps more for a flow than its records show: a state that
/// outlives a record and dies with the flow. The state lies in the entry, in the place that the
/// group has in the record, before group `reverse`, so that a record's end does not clear it; what
/// does not fit there is taken from a pool (StatePool), and counted when none is left. An entry has
/// the state of each of its directions.
///
///     begin       a flow opens: its states begin
///     packet      a packet was added; `before` is the latest time of its direction's packets so
///                 far, or its own if there was none
///     write       puts what the group tells into a record, in the place of the states that were
///                 copied there. The record ends now, or is only looked at
///     record_end  the record has ended, by the active timeout, and the flow goes on
///     flow_end    the flow has ended, whether it had a record or not: gives back what it took
///
/// The cache calls them in this order: begin (packet.. write record_end)* packet.. write flow_end,
/// with further calls of `write` anywhere. They are calls of a known function, inlined where they
/// are always_inline, and none is made of a group that a record size has no room for.
///
/// @thread  the thread that owns the cache; nothing allocates
template <class Hooks>
concept GroupHooks =
    requires(Hooks hooks, const Hooks& unchanged, const FlowCacheOptions& options,
             const Timeouts& timeouts, HotEntry& hot, bool is_reverse, const KeyedPacket& packet,
             std::span<const KeyedPacket> packets, Timestamp before, GroupBytes record) {
        { Hooks::bytes_needed(options) } noexcept -> std::same_as<std::size_t>;  // beside entries
        { unchanged.is_chosen() } noexcept -> std::same_as<bool>;
        { hooks.set_timeouts(timeouts) } noexcept;
        { hooks.begin(hot) } noexcept;
        { hooks.packet(hot, is_reverse, packet, before) } noexcept;
        { unchanged.write(hot, record) } noexcept;
        { hooks.record_end(hot) } noexcept;
        { hooks.flow_end(hot) } noexcept;
        { unchanged.may_be_compact() } noexcept -> std::same_as<bool>;
        { hooks.add_compact(hot, packet) } noexcept -> std::same_as<bool>;
        { unchanged.expand(hot) } noexcept;
        { typename Hooks::Prefetch(unchanged, packets).step(packets) } noexcept;
    };

/// The hooks that few groups need, for the others to inherit.
///
/// @tparam Hooks  the class that inherits
template <class Hooks>
struct PlainGroupHooks {
    /// Whether the cache's records have the group. Otherwise its hooks need not be called.
    [[nodiscard]] static constexpr bool is_chosen() noexcept { return true; }
    void set_timeouts(const Timeouts& /*timeouts*/) noexcept {}

    /// Whether the group keeps the counts of some entries in a form of its own, with
    /// HotEntry::is_compact. At most one group of a layout does.
    [[nodiscard]] static constexpr bool may_be_compact() noexcept { return false; }
    /// Adds a packet to a compact entry. @return  false: it cannot, and nothing was added
    [[nodiscard]] static constexpr bool add_compact(HotEntry& /*hot*/,
                                                    const KeyedPacket& /*packet*/) noexcept {
        return false;
    }
    /// Makes a compact entry one that has its counts, and its state.
    static constexpr void expand(HotEntry& /*hot*/) noexcept {}

    /// Prefetches states while a burst is accounted, as BurstPrefetch does.
    class Prefetch {
    public:
        Prefetch(const PlainGroupHooks& /*hooks*/,
                 std::span<const KeyedPacket> /*packets*/) noexcept {}
        /// @param packets  those that are not added yet, one fewer each time
        void step(std::span<const KeyedPacket> /*packets*/) noexcept {}
    };
};

/// The hooks of all groups of a cache that have some: each call goes to each of them, in this
/// order.
template <GroupHooks... Hooks>
class GroupHookList : private Hooks... {
public:
    [[nodiscard]] static std::size_t bytes_needed(const FlowCacheOptions& options) noexcept {
        return (Hooks::bytes_needed(options) + ... + std::size_t{0});
    }
    /// @param memory  bytes_needed() zeros are taken from its front
    template <std::size_t kGroupBytes>
    GroupHookList(const HookedCache<kGroupBytes>& cache, std::span<std::byte>& memory) noexcept
        : Hooks(cache, memory)... {}

    /// The hooks of one group.
    template <class One>
    [[nodiscard]] const One& get() const noexcept {
        return static_cast<const One&>(*this);
    }

    void set_timeouts(const Timeouts& timeouts) noexcept {
        (static_cast<Hooks&>(*this).set_timeouts(timeouts), ...);
    }
    [[nodiscard]] bool is_any_chosen() const noexcept {
        return (static_cast<const Hooks&>(*this).is_chosen() || ...);
    }
    void begin([[maybe_unused]] HotEntry& hot) noexcept {
        (static_cast<Hooks&>(*this).begin(hot), ...);
    }
    [[gnu::always_inline]] void packet([[maybe_unused]] HotEntry& hot,
                                       [[maybe_unused]] bool is_reverse,
                                       [[maybe_unused]] const KeyedPacket& packet,
                                       [[maybe_unused]] Timestamp before) noexcept {
        (static_cast<Hooks&>(*this).packet(hot, is_reverse, packet, before), ...);
    }
    void write([[maybe_unused]] const HotEntry& hot,
               [[maybe_unused]] GroupBytes record) const noexcept {
        (static_cast<const Hooks&>(*this).write(hot, record), ...);
    }
    void record_end(HotEntry& hot) noexcept { (static_cast<Hooks&>(*this).record_end(hot), ...); }
    void flow_end(HotEntry& hot) noexcept { (static_cast<Hooks&>(*this).flow_end(hot), ...); }

    [[nodiscard]] bool may_be_compact() const noexcept {
        return (static_cast<const Hooks&>(*this).may_be_compact() || ...);
    }
    [[nodiscard, gnu::always_inline]] bool add_compact(HotEntry& hot,
                                                       const KeyedPacket& packet) noexcept {
        return (static_cast<Hooks&>(*this).add_compact(hot, packet) || ...);
    }
    void expand(HotEntry& hot) const noexcept {
        (static_cast<const Hooks&>(*this).expand(hot), ...);
    }

    class Prefetch : private Hooks::Prefetch... {
    public:
        Prefetch([[maybe_unused]] const GroupHookList& hooks,
                 [[maybe_unused]] std::span<const KeyedPacket> packets) noexcept
            : Hooks::Prefetch(hooks.get<Hooks>(), packets)... {}
        [[gnu::always_inline]] void step(
            [[maybe_unused]] std::span<const KeyedPacket> packets) noexcept {
            (static_cast<typename Hooks::Prefetch&>(*this).step(packets), ...);
        }
    };
};

}  // namespace tributary
