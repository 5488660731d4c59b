// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "flowcache/deadlines.hpp"
#include "flowcache/hot_entry.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/tcp/tcp_record.hpp"
#include "flowcache/tcp/tcp_sequence.hpp"
#include "flowcache/tcp/tcp_signature.hpp"
#include "flowcache/tcp/tcp_state.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// What the HotEntry of a TCP uniflow that just goes on keeps in place of EntryCounts: all that its
/// next segment needs, and what such segments have added since. Its TcpState, a cache line of its
/// own, is then not touched.
///
///                expanded                                 compact
///     HotEntry   key .. packets octets start end ..       key .. CompactTcp         end ..
///     TcpState   next, recent  low segments ..            start, octets  low segments ..
///
/// No count is lost: packets are as many as segments. The counts in the HotEntry have few bits
/// each, so they are moved to the state after kMostPackets. Anything else expands the flow first: a
/// segment that does not just go on, a segment after a silence or near a deadline, and each reader
/// of its counts or its start, which EntryUpdate::expanded() hands out. A flow with a TcpLossState
/// stays expanded, and so does a flow that is hours old. Biflows and flows with other groups are
/// always expanded.
///
/// perf/results/tcp-analysis: analysed segments of a million undisturbed flows take 1.23 times
/// as long as plain ones. In single runs before and after, in turn on a noisy machine, 1.8 and 1.4
/// times, and 1.1 once the states were apart (GroupPlace).
///
/// @thread  the thread that owns the cache
/// @cost    one cache line per segment; to compact or expand, the state's line too
class [[gnu::may_alias]] CompactTcp {  // it lies where HotEntry has EntryCounts
public:
    /// How long packets are added to a compact flow without a test of its deadlines and of the
    /// analysis' memory of segments.
    class Limits {
    public:
        /// @param silence  a shorter one makes the analysis forget nothing
        Limits(const Timeouts& timeouts, Timestamp::duration silence) noexcept
            : gap_(static_cast<std::uint64_t>(
                  std::min<Timestamp::duration>({timeouts.idle, silence, kLongestGap}).count())),
              age_(static_cast<std::uint32_t>(std::min<std::uint64_t>(
                       static_cast<std::uint64_t>(timeouts.active.count()) >> kTickShift, kMostAge))
                   << kAgeShift) {}

    private:
        friend class CompactTcp;
        std::uint64_t gap_;  ///< ns since the packet before
        std::uint32_t age_;  ///< ticks since the record's start, shifted
    };

    /// Makes an expanded flow compact, where that is possible.
    ///
    /// @param state  its own; TcpAnalysis::add() has just returned true for it
    /// @param clock  of the packet
    [[gnu::always_inline]] static void compact(HotEntry& hot, TcpState& state,
                                               Timestamp clock) noexcept {
        constexpr std::uint32_t kMost = 0xFFFF'FFFF - kMostPackets;
        const EntryCounts& counts = hot.counts.counts_;
        if (counts.packets != state.segments || state.segments > kMost ||
            ticks(clock) - ticks(counts.start) >= kMostAge) [[unlikely]] {
            return;  // not all packets were read, or there are too many, or it is too old
        }
        CompactTcp compact;
        compact.counts_ = ticks(counts.start) << kTickAt;
        compact.next_ = state.next;
        compact.recent_ = state.recent;
        const Moved moved{counts.start, counts.octets};
        std::memcpy(&place_in(hot), &compact, sizeof compact);
        std::memcpy(&state, &moved, sizeof moved);
        hot.is_compact = 1;
    }
    /// Expands a compact flow. The result is the same as if each packet had been added to it
    /// expanded.
    static void expand(HotEntry& hot, TcpState& state) noexcept {
        CompactTcp compact;
        Moved moved;
        std::memcpy(&compact, &place_in(hot), sizeof compact);
        std::memcpy(static_cast<void*>(&moved), &state, sizeof moved);
        state.segments += static_cast<std::uint32_t>(compact.packets());
        state.data_segments +=
            static_cast<std::uint32_t>(compact.counts_ >> kDataAt & kMostPackets);
        state.recent = compact.recent_;
        state.go_on_to(compact.next_);
        hot.counts.counts_ = {.packets = state.segments,
                              .octets = moved.octets + (compact.counts_ & kMostOctets),
                              .start = moved.start};
        hot.is_compact = 0;
    }

    /// Whether a packet of a compact flow comes soon enough for add().
    [[nodiscard, gnu::always_inline]] static bool comes_soon(const HotEntry& hot,
                                                             const KeyedPacket& packet,
                                                             const Limits& limits) noexcept {
        return static_cast<std::uint64_t>((packet.packet->seen_at - hot.end).count()) <=
               limits.gap_;
    }
    /// Adds a packet of a compact flow that just goes on.
    ///
    /// @return  false: it does not, and nothing was added
    [[nodiscard, gnu::always_inline]] static bool add(HotEntry& hot, const KeyedPacket& packet,
                                                      const Limits& limits) noexcept {
        CompactTcp& flow = place_in(hot);
        const PacketFields& segment = *packet.fields;
        if (!flow.is_within(limits, hot, packet) || !segment.has_tcp_segment) [[unlikely]] {
            return false;
        }
        const std::uint32_t signature = signature_of(segment);
        if (!flow.is_next(segment, signature)) [[unlikely]] {
            return false;
        }
        flow.counts_ += segment.ip_bytes + kOnePacket +
                        (segment.tcp.payload_bytes > 0 ? std::uint64_t{1} << kDataAt : 0);
        flow.next_ += segment.tcp.payload_bytes;
        tcp::remember(flow.recent_, signature);
        hot.tcp_control_bits |= segment.tcp_control_bits;
        hot.end = packet.packet->seen_at;
        return true;
    }

private:
    // The counts, from the lowest bit on: octets, packets, segments with data; the record's start.
    static constexpr unsigned kPacketsAt = 26;
    static constexpr unsigned kDataAt = 36;
    static constexpr unsigned kTickAt = 46;
    static constexpr std::uint64_t kMostOctets = (std::uint64_t{1} << kPacketsAt) - 1;
    static constexpr std::uint64_t kOnePacket = std::uint64_t{1} << kPacketsAt;
    static constexpr std::uint32_t kMostPackets = (1U << (kDataAt - kPacketsAt)) - 1;
    static constexpr std::uint32_t kMostBytes = 65'535;  ///< of a packet, or of its data
    // The second: one go_on_to() of all their data has the same result as one for each packet.
    static_assert(std::uint64_t{kMostPackets} * kMostBytes <= kMostOctets &&
                  kMostOctets < static_cast<std::uint32_t>(tcp::kFarthest));

    // Ticks of the start are modulo 2^18, 20 hours. A flow older than half of that does not become
    // or stay compact, and no gap is so long that the other half might pass in it.
    static constexpr unsigned kTickShift = 28;  ///< 2^28 ns, 268 ms
    static constexpr unsigned kAgeShift = 32 - (64 - kTickAt);
    static constexpr std::uint64_t kMostAge = std::uint64_t{1} << (63 - kTickAt);
    static constexpr Timestamp::duration kLongestGap = std::chrono::hours(1);

    /// What the state holds in place of `next` and `recent`.
    struct Moved {
        Timestamp start;
        std::uint64_t octets;
    };
    static_assert(sizeof(Moved) == offsetof(TcpState, low) && offsetof(TcpState, next) == 0);

    [[nodiscard]] static CompactTcp& place_in(HotEntry& hot) noexcept {
        static_assert(sizeof(CompactTcp) == sizeof(CountsPlace));
        return *reinterpret_cast<CompactTcp*>(reinterpret_cast<std::byte*>(&hot) +
                                              offsetof(HotEntry, counts));
    }
    [[nodiscard]] static std::uint64_t ticks(Timestamp time) noexcept {
        return static_cast<std::uint64_t>(time.time_since_epoch().count()) >> kTickShift;
    }
    [[nodiscard]] std::uint64_t packets() const noexcept {
        return counts_ >> kPacketsAt & kMostPackets;
    }

    /// Whether no deadline and no time limit of the analysis can have passed, and the packet is not
    /// late.
    [[nodiscard, gnu::always_inline]] bool is_within(const Limits& limits, const HotEntry& hot,
                                                     const KeyedPacket& packet) const noexcept {
        const Timestamp clock = packet.packet->clock;
        const auto age = static_cast<std::uint32_t>(ticks(clock) - (counts_ >> kTickAt))
                         << kAgeShift;
        return comes_soon(hot, packet, limits) &&
               static_cast<std::uint64_t>((clock - hot.end).count()) <= limits.gap_ &&
               age < limits.age_;
    }
    /// Whether a segment follows on those before it, changes nothing but what it adds, and there is
    /// room for that. TcpAnalysis::just_goes_on() is the same test for an expanded flow.
    [[nodiscard, gnu::always_inline]] bool is_next(const PacketFields& segment,
                                                   std::uint32_t signature) const noexcept {
        return segment.tcp.sequence == next_ && tcp::is_plain(segment) &&
               packets() != kMostPackets &&
               (segment.ip_bytes | segment.tcp.payload_bytes) <= kMostBytes &&
               tcp::is_new(segment, signature, recent_);
    }

    std::uint64_t counts_;
    std::uint32_t next_;  ///< this and the rest as in TcpState
    tcp::RecentSignatures recent_;
};
static_assert(std::is_trivially_copyable_v<CompactTcp>);

}  // namespace tributary
