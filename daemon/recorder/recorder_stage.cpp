// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/recorder_stage.hpp"

#include <algorithm>
#include <bit>

#include "daemon/recorder/packet_hashes.hpp"
#include "flowcache/record/prefetch.hpp"
#include "parsers/header_places.hpp"

namespace tributary {
namespace {

StageNeeds needs_of(const RecorderRules& rules) {
    return {.name = "the recorder",
            .order = StageOrder::recorder,
            .octets = true,
            .flows = rules.cutoff != 0};
}

/// Octets up to the metered packet's payload: behind the transport header, or behind the IP header
/// where a fragment or an unknown protocol has none.
///
/// @return  kAbsent: not known
std::uint32_t payload_place(const PacketView& packet, const HeaderPlaces& places,
                            std::uint8_t ip_version) noexcept {
    if (places.payload != HeaderPlaces::kAbsent) {
        return places.payload;
    }
    if (places.transport != HeaderPlaces::kAbsent || places.network == HeaderPlaces::kAbsent) {
        return places.transport;
    }
    constexpr std::uint32_t kIpv6Header = 40;
    if (ip_version == 6) {
        return places.network + kIpv6Header;
    }
    const auto length = std::to_integer<std::uint32_t>(packet.captured[places.network]) & 0x0fU;
    return places.network + length * 4;
}

/// Whether a filter that asks for ports may match a frame that is not metered.
bool may_be_ip(const PacketView& frame) noexcept {
    constexpr std::size_t kTypeAt = 12;
    const auto type = CapturedBytes(frame.captured).header<2>(kTypeAt);
    return frame.link_type != LinkType::ethernet ||
           (type && (type.u16<0>() == ethertype::kIpv4 || type.u16<0>() == ethertype::kIpv6));
}

}  // namespace

RecorderQueue::RecorderQueue(std::size_t ring_octets, std::size_t flow_entries,
                             const RecorderRules& rules, std::optional<unsigned> numa_node,
                             PageUse pages)
    : ring(ring_octets, numa_node, pages) {
    if (rules.cutoff != 0) {
        payload_memory.emplace(flow_entries * sizeof(Payload), numa_node, pages);
        payload = {reinterpret_cast<Payload*>(payload_memory->bytes().data()), flow_entries};
    }
}

RecorderStage::RecorderStage(RecorderQueue& queue, const RecorderRules& rules,
                             const FilterSlot* filter, FlowHasher hasher)
    : BurstStage(needs_of(rules)),
      queue_(queue),
      rules_(rules),
      filter_(filter),
      hasher_(hasher),
      most_octets_(rules.snap == SnapMode::octets
                       ? rules.snap_octets
                       : static_cast<std::uint32_t>(PacketRing::kMostOctets)),
      locates_(rules.snap == SnapMode::headers || rules.cutoff != 0),
      looks_into_tunnels_(rules.parse.tunnel == TunnelMode::inner),
      whole_(PacketRing::kMostOctets + 1) {}

void RecorderStage::on_burst(FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept {
    const PacketMask chosen = choose(burst);
    if (chosen != 0) {
        Cuts cuts;
        judge(burst, packets, chosen, cuts);
        KeptFrames kept;
        for (PacketMask left = chosen; left != 0; left &= left - 1) {
            const auto index = static_cast<std::size_t>(std::countr_zero(left));
            keep(burst, index, cuts[index], kept);
        }
        queue_.counters.kept_whole.add(kept.whole);
        queue_.counters.kept_cut.add(static_cast<std::uint64_t>(std::popcount(chosen)) -
                                     kept.whole);
        queue_.counters.kept_octets.add(kept.octets);
    }
    queue_.ring.publish(burst.now);
}

/// Counts the frames that came, and those that are left out.
///
/// @return  those that are kept
PacketMask RecorderStage::choose(const FrameBurst& burst) noexcept {
    const auto count = [](PacketMask mask) {
        return static_cast<std::uint64_t>(std::popcount(mask));
    };
    RecorderCounters& counters = queue_.counters;
    counters.seen.add(burst.frames.size());
    PacketMask chosen = mask_of_all(burst.frames);
    if (!rules_.all_frames) {
        const PacketMask left = burst.filtered | burst.not_sampled;
        counters.left_by_input.add(count(chosen & left));
        chosen &= ~left;
    }
    if (filter_ == nullptr || chosen == 0) {
        return chosen;
    }
    PacketSelector* const filter = filter_->get();
    if (filter == nullptr || !filter->is_ready()) [[unlikely]] {
        counters.filter_not_ready.add(count(chosen));
        return 0;
    }
    const PacketMask passed = filter->select(burst.frames);
    counters.filtered.add(count(chosen & ~passed));
    return chosen & passed;
}

/// Finds out how much of each chosen frame is kept.
void RecorderStage::judge(const FrameBurst& burst, std::span<const KeyedPacket> packets,
                          PacketMask chosen, Cuts& cuts) noexcept {
    const std::uint32_t unknown =
        rules_.snap == SnapMode::headers ? RecorderRules::kUnknownHeaders : most_octets_;
    std::fill_n(cuts.begin(), burst.frames.size(),
                Cut{.octets = unknown, .flow_hash = 0, .rss_hash = 0, .is_tunnelled = false});
    Payloads payloads{};
    if (flows_ != nullptr) {
        find_payloads(packets, payloads);
    }
    for (std::size_t place = 0; place < packets.size(); ++place) {
        const KeyedPacket& packet = packets[place];
        const std::size_t index = burst.index_of(*packet.packet);
        // The payload of frames that are not kept counts towards the cut-off too.
        if (locates_) {
            cuts[index].octets = kept_of(packet, payloads[place]);
        }
        if ((chosen & mask_of(index)) != 0) {
            cuts[index].flow_hash = symmetric_hash(hasher_, *packet.fields);
            cuts[index].rss_hash = symmetric_rss_hash(*packet.fields);
            cuts[index].is_tunnelled =
                looks_into_tunnels_ && packet.fields->tunnel.kind != TunnelKind::none;
        }
    }
}

/// Finds the payload that came of the flow of each packet, and requests it all before any of it is
/// used: with a million flows it is in no cache.
///
/// @param payloads  gets nullptr where the flow has ended in this burst
void RecorderStage::find_payloads(std::span<const KeyedPacket> packets,
                                  Payloads& payloads) const noexcept {
    const PacketMask begun = flows_->begun();
    for (std::size_t place = 0; place < packets.size(); ++place) {
        const std::optional<FlowHandle> flow = flows_->flow_of(packets[place]);
        payloads[place] = flow ? &queue_.payload[flow->entry] : nullptr;
        prefetch_to_write(payloads[place]);  // of nullptr it is harmless
    }
    for (std::size_t place = 0; place < packets.size(); ++place) {
        if ((begun & mask_of(place)) != 0 && payloads[place] != nullptr) {
            *payloads[place] = {};
        }
    }
}

/// Octets that are kept of a metered packet's frame.
///
/// @param came  the payload of its flow so far; nullptr: the flow has ended, or there is no cut-off
std::uint32_t RecorderStage::kept_of(const KeyedPacket& packet,
                                     RecorderQueue::Payload* came) const noexcept {
    const HeaderPlaces places = locate_headers(*packet.packet, *packet.fields, rules_.parse);
    const std::uint32_t payload = payload_place(*packet.packet, places, packet.fields->ip_version);
    const std::uint32_t headers =
        payload == HeaderPlaces::kAbsent ? RecorderRules::kUnknownHeaders : payload;
    if (rules_.snap == SnapMode::headers) {
        return std::min(headers, most_octets_);
    }
    const std::uint32_t end = places.network + packet.fields->ip_bytes;  // on the wire
    const bool has_payload = payload != HeaderPlaces::kAbsent && end > payload;
    if (came == nullptr || !has_payload) {
        return most_octets_;
    }
    std::uint32_t& octets = (*came)[packet.is_swapped ? 1 : 0];
    const std::uint32_t kept = std::min(end - payload, rules_.cutoff - octets);
    octets += kept;
    return kept == end - payload ? most_octets_ : std::min(headers + kept, most_octets_);
}

void RecorderStage::keep(const FrameBurst& burst, std::size_t index, const Cut& cut,
                         KeptFrames& sum) noexcept {
    const PacketView& frame = burst.frames[index];
    // Only then may it have a further segment, which takes a call to see.
    const std::span<const std::byte> octets =
        frame.wire_bytes > frame.captured.size() ? put_together(burst, index) : frame.captured;
    const std::size_t kept = std::min<std::size_t>(octets.size(), cut.octets);
    sum.whole += kept == octets.size() ? 1 : 0;
    sum.octets += kept;
    queue_.ring.append({.seen_at = frame.seen_at,
                        .wire_bytes = frame.wire_bytes,
                        .flow_hash = cut.flow_hash,
                        .is_unknown = cut.is_tunnelled || (cut.flow_hash == 0 && may_be_ip(frame)),
                        .rss_hash = cut.rss_hash,
                        .ingress_interface = frame.ingress_interface,
                        .link_type = frame.link_type},
                       octets.first(kept));
}

/// The octets of all segments of a frame, or as many as a ring keeps and one more, so that it
/// counts as cut.
std::span<const std::byte> RecorderStage::put_together(const FrameBurst& burst,
                                                       std::size_t index) noexcept {
    const std::size_t segments = burst.details(index).segments.value_or(1);
    if (segments < 2) {
        return burst.frames[index].captured;
    }
    std::size_t count = 0;
    for (std::size_t number = 0; number < segments && count < whole_.size(); ++number) {
        const std::span<const std::byte> segment = burst.segment(index, number);
        const std::size_t part = std::min(segment.size(), whole_.size() - count);
        std::copy_n(segment.begin(), part, whole_.begin() + static_cast<std::ptrdiff_t>(count));
        count += part;
    }
    return std::span(whole_).first(count);
}

}  // namespace tributary
