// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "flowcache/hot_entry.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_direction.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// The counts and times of one direction of a biflow, in its entry.
struct DirectionCounts {
    std::uint16_t& tcp_control_bits;
    std::uint8_t& ip_class_of_service;
    std::uint64_t& packets;
    std::uint64_t& octets;
    Timestamp& start;
    Timestamp& end;
};

/// Where the entries of a cache of biflows have the counts and times of either direction. The
/// direction of a packet chooses offsets, not a branch, which a branch predictor could not predict:
/// with a branch, and a function for each direction, packets of biflows took 1.35 times as long.
///
/// The members of HotEntry and of ReverseGroup lie in the same order. A biflow is never compact,
/// and its groups are never apart (is_tcp_analysis_alone()).
class DirectionPlaces {
public:
    /// @param layout  of uniflows, too: then of() is not called
    explicit DirectionPlaces(const RecordLayout& layout) noexcept
        : places_{{{kHotCounts, place_of(layout.forward_span_at)},
                   {place_of(layout.reverse_at),
                    place_of(layout.reverse_at + offsetof(ReverseGroup, start))}}} {}

    [[nodiscard, gnu::always_inline]] DirectionCounts of(HotEntry& hot,
                                                         bool is_reverse) const noexcept {
        const Place place = places_[is_reverse ? 1 : 0];
        auto* const counts = reinterpret_cast<std::byte*>(&hot) + place.counts;
        auto* const span = reinterpret_cast<std::byte*>(&hot) + place.span;
        return {at<std::uint16_t>(counts, offsetof(ReverseGroup, tcp_control_bits)),
                at<std::uint8_t>(counts, offsetof(ReverseGroup, ip_class_of_service)),
                at<std::uint64_t>(counts, offsetof(ReverseGroup, packets)),
                at<std::uint64_t>(counts, offsetof(ReverseGroup, octets)),
                at<Timestamp>(span, offsetof(PacketSpan, start)),
                at<Timestamp>(span, offsetof(PacketSpan, end))};
    }

private:
    /// In bytes from the HotEntry.
    struct Place {
        std::uint16_t counts;
        std::uint16_t span;
    };
    /// Where a ReverseGroup would begin whose counts are those of the HotEntry.
    static constexpr std::uint16_t kHotCounts =
        offsetof(HotEntry, tcp_control_bits) - offsetof(ReverseGroup, tcp_control_bits);
    static_assert(kHotCounts + offsetof(ReverseGroup, ip_class_of_service) ==
                      offsetof(HotEntry, ip_class_of_service) &&
                  kHotCounts + offsetof(ReverseGroup, packets) ==
                      offsetof(HotEntry, counts) + offsetof(EntryCounts, packets) &&
                  kHotCounts + offsetof(ReverseGroup, octets) ==
                      offsetof(HotEntry, counts) + offsetof(EntryCounts, octets) &&
                  offsetof(ReverseGroup, start) + offsetof(PacketSpan, end) ==
                      offsetof(ReverseGroup, end));

    [[nodiscard]] static constexpr std::uint16_t place_of(std::size_t at) noexcept {
        return static_cast<std::uint16_t>(sizeof(HotEntry) + at - sizeof(FlowRecordCore));
    }
    template <class Member>
    [[nodiscard]] static Member& at(std::byte* begin, std::size_t offset) noexcept {
        return *reinterpret_cast<Member*>(begin + offset);
    }

    std::array<Place, 2> places_;  ///< forward, reverse
};

/// The two directions of a biflow's entry. The HotEntry has the counts of the direction from the
/// initiator; the times and field groups of that direction are in the groups. The groups have all
/// of the other direction.
class BiflowEntry {
public:
    /// @param hot , counts, groups  of the entry, which outlives this
    BiflowEntry(HotEntry& hot, EntryCounts& counts, GroupBytes groups,
                const RecordLayout& layout) noexcept
        : hot_(hot), counts_(counts), groups_(groups), layout_(layout) {}

    [[nodiscard]] ReverseGroup& reverse() const noexcept {
        return groups_.get<ReverseGroup>(layout_.reverse_at);
    }
    [[nodiscard]] PacketSpan& forward_span() const noexcept {
        return groups_.get<PacketSpan>(layout_.forward_span_at);
    }

    /// Adds what a program outside has counted of one direction, if that direction has a packet of
    /// its own.
    [[nodiscard]] bool add_counted(bool is_reverse, const PacketCounts& counts,
                                   const PacketSpan& span) const noexcept {
        if ((is_reverse ? reverse().packets : counts_.packets) == 0) {
            return false;
        }
        if (is_reverse) {
            add_counts(reverse(), counts);
            widen(reverse(), span.start, span.end);
        } else {
            add_counts(hot_, counts_, counts);
            widen(forward_span(), span.start, span.end);
        }
        return true;
    }

    /// Updates the directions by a packet with SYN or FIN, before it is added. The sender of SYN
    /// without ACK is the initiator. This changes the entry if the other end was taken for the
    /// initiator, for example because it sent an old connection's last packet.
    [[gnu::noinline]] void note_syn_or_fin(const KeyedPacket& packet) const noexcept {
        const std::uint16_t flags = packet.fields->tcp_control_bits;
        const bool is_of_initiator = (flags & (tcp_flag::kSyn | tcp_flag::kAck)) == tcp_flag::kSyn;
        if (is_of_initiator && reverse().biflow_direction == BiflowDirection::arbitrary) {
            reverse().biflow_direction = BiflowDirection::initiator;
            if (hot_.is_reverse(packet)) {
                turn();
            }
        }
        if ((flags & tcp_flag::kFin) != 0) {
            hot_.finished = (hot_.finished | (hot_.is_reverse(packet) ? 2U : 1U)) & 3U;
        }
    }

private:
    /// Where the field groups of both directions begin, without those that have a state: they lie
    /// from the first group to the first reverse one, and from there to the end.
    [[nodiscard]] std::uint16_t first_group() const noexcept {
        return static_cast<std::uint16_t>(layout_.forward_span_at + sizeof(PacketSpan));
    }
    /// Swaps source and destination: each direction gets what the other one had. The times and the
    /// end of the whole record stay. The times of a direction without a packet stay too: they are
    /// those of the record before.
    void turn() const noexcept {
        ReverseGroup& back = reverse();
        PacketSpan& there = forward_span();
        hot_.starts_swapped = hot_.starts_swapped == 0 ? 1 : 0;
        const std::uint32_t finished = hot_.finished;
        hot_.finished = (finished >> 1U | finished << 1U) & 3U;
        std::swap(counts_.packets, back.packets);
        std::swap(counts_.octets, back.octets);
        std::swap(there.start, back.start);
        std::swap(there.end, back.end);
        back.tcp_control_bits = std::exchange(hot_.tcp_control_bits, back.tcp_control_bits);
        back.ip_class_of_service =
            std::exchange(hot_.ip_class_of_service, back.ip_class_of_service);
        // Groups with a state lie in front of group `reverse`, the two directions side by side.
        const std::size_t states = (layout_.reverse_at - sizeof(FlowRecordCore)) / 2;
        swap_bytes(sizeof(FlowRecordCore), sizeof(FlowRecordCore) + states, states);
        const std::size_t bytes = (layout_.bytes - first_group()) / std::size_t{2};
        swap_bytes(first_group(), first_group() + bytes, bytes);
        turn_tunnel();
    }
    /// The tunnel of the direction from the initiator is set before its packets come, because it
    /// may be part of the key. The other direction's tunnel is not.
    void turn_tunnel() const noexcept {
        if (layout_.at<TunnelGroup>() == 0) {
            return;
        }
        auto& there = groups_.get<TunnelGroup>(layout_.at<TunnelGroup>());
        auto& back = groups_.get<TunnelGroup>(layout_.back_at<TunnelGroup>());
        if (counts_.packets == 0) {
            there = swapped(back, true);
        }
        if (reverse().packets == 0) {
            back = {};
        }
    }
    void swap_bytes(std::size_t a, std::size_t b, std::size_t count) const noexcept {
        auto* const first = &groups_.get<std::byte>(static_cast<std::uint16_t>(a));
        std::swap_ranges(first, first + count,
                         &groups_.get<std::byte>(static_cast<std::uint16_t>(b)));
    }

    HotEntry& hot_;
    EntryCounts& counts_;
    GroupBytes groups_;
    const RecordLayout& layout_;
};

}  // namespace tributary
