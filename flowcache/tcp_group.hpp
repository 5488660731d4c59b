// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "flowcache/cache_room.hpp"
#include "flowcache/compact_tcp.hpp"
#include "flowcache/flow_entries.hpp"
#include "flowcache/group_hooks.hpp"
#include "flowcache/hot_entry.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/prefetch.hpp"
#include "flowcache/tcp/tcp_analysis.hpp"
#include "flowcache/tcp/tcp_connection.hpp"

namespace tributary {

/// The hooks of group tcp-analysis: TcpAnalysis in a cache. A direction's TcpState lies in the
/// entry, its TcpLossState comes from a pool. Flows of other protocols have neither, and zeros in
/// their records. Undisturbed uniflows may be CompactTcp.
///
/// @thread  the thread that owns the cache; nothing allocates
template <std::size_t kGroupBytes>
class TcpAnalysisHooks : public PlainGroupHooks<TcpAnalysisHooks<kGroupBytes>> {
public:
    [[nodiscard]] static std::size_t bytes_needed(const FlowCacheOptions& options) noexcept {
        return sizeof(TcpLossState) * (loss_states_for(options) + 1);
    }

    TcpAnalysisHooks(const HookedCache<kGroupBytes>& cache, std::span<std::byte>& memory) noexcept
        : groups_(cache.groups),
          at_(cache.layout.template at<TcpAnalysisGroup>()),
          reverse_at_(cache.layout.template back_at<TcpAnalysisGroup>()),
          counters_(cache.counters),
          analysis_(cache.options, take<TcpLossState>(memory, loss_states_for(cache.options)),
                    cache.counters),
          limits_(cache.options, analysis_.shortest_time()) {
        constexpr auto kBoth =
            RecordLayout::of(groups_of<TcpAnalysisGroup>(), FlowDirection::biflow);
        static_assert(kBoth.at<TcpAnalysisGroup>() < kBoth.reverse_at &&
                      kBoth.back_at<TcpAnalysisGroup>() < kBoth.reverse_at);
    }

    void set_timeouts(const Timeouts& timeouts) noexcept {
        limits_ = CompactTcp::Limits(timeouts, analysis_.shortest_time());
    }

    [[nodiscard]] bool is_chosen() const noexcept { return kGroupBytes >= kStateBytes && at_ != 0; }
    void begin(HotEntry& hot) noexcept { for_each_state(hot, &TcpAnalysis::begin); }
    [[gnu::always_inline]] void packet(HotEntry& hot, bool is_reverse, const KeyedPacket& packet,
                                       Timestamp before) noexcept {
        const PacketFields& fields = *packet.fields;
        if (!analyses(hot)) {
            return;
        }
        const Timestamp seen_at = packet.packet->seen_at;
        TcpState& state = state_at(hot, is_reverse ? reverse_at_ : at_);
        analysis_.pause(state, seen_at - before);
        if (!fields.has_tcp_segment) {
            counters_.tcp_segments_unread.add(fields.is_later_fragment ? 0 : 1);
            return;
        }
        if (analysis_.add(state, fields, seen_at) && may_be_compact()) {
            CompactTcp::compact(hot, state, packet.packet->clock);
        }
        if (is_biflow()) {
            tcp::add_answer(state, state_at(hot, is_reverse ? at_ : reverse_at_), fields, seen_at);
        }
    }
    void write(const HotEntry& hot, GroupBytes record) const noexcept {
        if (is_chosen()) {
            write(hot, record, at_);
        }
        if (is_biflow()) {
            write(hot, record, reverse_at_);
        }
    }
    void record_end(HotEntry& hot) noexcept {
        for_each_state(hot, [this](TcpState& state) { analysis_.begin_next_record(state); });
    }
    void flow_end(HotEntry& hot) noexcept {
        for_each_state(hot, [this](TcpState& state) { analysis_.end(state); });
    }

    [[nodiscard]] bool may_be_compact() const noexcept { return groups_.is_apart(); }
    [[nodiscard, gnu::always_inline]] bool add_compact(HotEntry& hot,
                                                       const KeyedPacket& packet) noexcept {
        return CompactTcp::add(hot, packet, limits_);
    }
    void expand(HotEntry& hot) const noexcept { CompactTcp::expand(hot, state_at(hot, at_)); }

    /// Prefetches the TcpStates of flows that are not compact, or will be expanded because they
    /// were silent, and then their TcpLossStates. Those of a burst's first four packets are not
    /// prefetched. A candidate may be wrong, and a TcpLossState too.
    class Prefetch {
    public:
        Prefetch(const TcpAnalysisHooks& hooks, std::span<const KeyedPacket> packets) noexcept
            : hooks_(hooks) {
            if (hooks.is_chosen()) {
                for (std::size_t i = 0; i < kState; ++i) {  // as many notes for a shorter burst
                    note(i < packets.size() && prefetch_state(packets[i]));
                }
            }
        }
        [[gnu::always_inline]] void step(std::span<const KeyedPacket> packets) noexcept {
            if (!hooks_.is_chosen()) {
                return;
            }
            note(packets.size() > kState && prefetch_state(packets[kState]));
            if ((expanded_ >> (kState - kLossState) & 1U) != 0) [[unlikely]] {
                prefetch_loss_state(packets[kLossState]);
            }
        }

    private:
        // Packets between prefetch and accounting.
        static constexpr std::size_t kState = 8;
        static constexpr std::size_t kLossState = 4;

        void note(bool is_expanded) noexcept {
            expanded_ = expanded_ << 1U | (is_expanded ? 1 : 0);
        }
        /// @return  whether the packet has a candidate whose state it will touch
        [[nodiscard, gnu::always_inline]] bool prefetch_state(
            const KeyedPacket& packet) const noexcept {
            if (packet.entry == nullptr || packet.key.protocol != ip_protocol::kTcp) {
                return false;
            }
            if (!hooks_.may_be_compact()) {
                return true;  // KeyedBurst has prefetched it, behind the HotEntry
            }
            const bool will_touch = packet.entry->is_compact == 0 ||
                                    !CompactTcp::comes_soon(*packet.entry, packet, hooks_.limits_);
            if (will_touch) {
                prefetch_to_write(&hooks_.state_for(packet));
            }
            return will_touch;
        }
        /// @param packet  one that had a candidate. Where flows can be held, it has none any more
        ///                if that flow has ended since
        [[gnu::always_inline]] void prefetch_loss_state(const KeyedPacket& packet) const noexcept {
            if (packet.entry != nullptr) {
                hooks_.analysis_.prefetch_loss_state(hooks_.state_for(packet));
            }
        }

        const TcpAnalysisHooks& hooks_;
        std::uint32_t expanded_ = 0;  ///< what was noted, one bit each, the last one lowest
    };

private:
    static constexpr std::size_t kStateBytes = sizeof(TcpState);

    [[nodiscard]] bool is_biflow() const noexcept {
        return kGroupBytes >= 2 * kStateBytes && reverse_at_ != 0;
    }
    [[nodiscard]] TcpState& state_at(HotEntry& hot, std::uint16_t at) const noexcept {
        return groups_.of(hot).template get<TcpState>(at);
    }
    /// The state of the direction of a packet, if its candidate is right.
    [[nodiscard]] TcpState& state_for(const KeyedPacket& packet) const noexcept {
        const bool is_reverse = is_biflow() && packet.entry->is_reverse(packet);
        return state_at(*packet.entry, is_reverse ? reverse_at_ : at_);
    }
    /// Whether segments of this flow are analysed.
    [[nodiscard]] bool analyses(const HotEntry& hot) const noexcept {
        return is_chosen() && hot.key.protocol == ip_protocol::kTcp;
    }
    /// For the state of each direction of a TCP flow; other flows have none.
    template <class Use>
    void for_each_state(HotEntry& hot, Use use) const noexcept {
        if (analyses(hot)) {
            use(state_at(hot, at_));
            if (is_biflow()) {
                use(state_at(hot, reverse_at_));
            }
        }
    }
    void write(const HotEntry& hot, GroupBytes record, std::uint16_t at) const noexcept {
        const TcpAnalysisGroup report =
            analyses(hot) ? analysis_.report(record.get<TcpState>(at)) : TcpAnalysisGroup{};
        std::memcpy(&record.get<std::byte>(at), &report, sizeof report);
    }

    GroupPlace<kGroupBytes> groups_;
    std::uint16_t at_;          ///< in a record; 0: not chosen
    std::uint16_t reverse_at_;  ///< of a biflow's other direction
    CacheCounters& counters_;
    TcpAnalysis analysis_;
    CompactTcp::Limits limits_;
};

}  // namespace tributary
