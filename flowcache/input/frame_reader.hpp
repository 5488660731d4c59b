// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <span>

#include "flowcache/input/frame_parser.hpp"
#include "flowcache/input/packet_reader.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "parsers/packet.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

/// The input path of frames: filter, sample, parse, track fragments.
template <PacketSource Source>
class FrameReader final : public PacketReader {
public:
    /// @param source  outlives the reader
    FrameReader(Source& source, const FrameParserParts& parts) noexcept
        : source_(source), parser_(parts, counters_) {}

    [[nodiscard]] ParsedBurst read_burst(KeyedBurst& keyed) noexcept override {
        const Burst burst = source_.receive();
        keyed.clear();
        PacketFields* fields = fields_.data();
        FrameParser parser = parser_;  // a copy, which no store to fields can change
        for (const PacketView& packet : chosen_of(burst.packets)) {
            if (parser.parse(packet, *fields) == ParseStatus::ok) {
                keyed.add(packet, *fields);
                ++fields;
            }
        }
        counters_.received.add(burst.packets.size());
        return {.packets = keyed.finish(), .received = burst.packets.size(), .now = burst.now};
    }
    void release() noexcept override { source_.release(); }
    void set_filter(PacketSelector* filter) noexcept override { parser_.set_filter(filter); }
    [[nodiscard]] bool ended() const noexcept override {
        if constexpr (requires { source_.exhausted(); }) {
            return source_.exhausted();
        } else {
            return false;
        }
    }

private:
    /// Those packets that pass the filter and are sampled, in their order.
    [[nodiscard]] std::span<const PacketView> chosen_of(
        std::span<const PacketView> packets) noexcept {
        const PacketMask passed = parser_.filter(packets);
        const PacketMask chosen = parser_.sample(packets, passed);
        if (chosen == mask_of_all(packets)) {
            return packets;
        }
        PacketView* end = chosen_.data();
        for (PacketMask left = chosen; left != 0; left &= left - 1) {
            *end++ = packets[static_cast<std::size_t>(std::countr_zero(left))];
        }
        return {chosen_.data(), end};
    }

    Source& source_;
    FrameParser parser_;
    std::array<PacketFields, kBurstPackets> fields_;
    std::array<PacketView, kBurstPackets> chosen_;  ///< for bursts that are not chosen whole
};

}  // namespace tributary
