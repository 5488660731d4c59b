// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <span>

#include "flowcache/input/frame_burst.hpp"
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
        ParsedBurst parsed{.burst = source_.receive(), .packets = {}, .received = 0};
        FrameBurst& burst = parsed.burst;
        const PacketMask chosen = parser_.choose(burst);
        keyed.clear();
        parse(chosen, burst.frames, keyed);
        parsed.packets = keyed.finish();
        mark(chosen, parsed);
        parsed.received = burst.frames.size();
        counters_.received.add(parsed.received);
        return parsed;
    }
    void release(const FrameBurst& burst) noexcept override { source_.release(burst); }
    void set_filter(PacketSelector* filter) noexcept override { parser_.set_filter(filter); }
    [[nodiscard]] bool ended() const noexcept override {
        if constexpr (requires { source_.exhausted(); }) {
            return source_.exhausted();
        } else {
            return false;
        }
    }
    [[nodiscard]] const KeptBuffers* kept() const noexcept override { return kept_of(source_); }

private:
    /// Parses one run of chosen frames after the other: mostly one that is the whole burst.
    void parse(PacketMask chosen, std::span<const PacketView> frames, KeyedBurst& keyed) noexcept {
        PacketFields* fields = fields_.data();
        FrameParser parser = parser_;  // a copy, which no store to fields can change
        while (chosen != 0) {
            const auto first = static_cast<std::size_t>(std::countr_zero(chosen));
            const auto count = static_cast<std::size_t>(std::countr_one(chosen >> first));
            fields = parse_run(frames.subspan(first, count), fields, parser, keyed);
            chosen &= chosen + mask_of(first);  // adding carries through the run
        }
    }
    /// @param to  fields of the first packet
    /// @return    behind the fields of the last one
    [[gnu::always_inline]] static PacketFields* parse_run(std::span<const PacketView> frames,
                                                          PacketFields* to, FrameParser& parser,
                                                          KeyedBurst& keyed) noexcept {
        for (const PacketView& frame : frames) {
            if (parser.parse(frame, *to) == ParseStatus::ok) {
                keyed.add(frame, *to);
                ++to;
            }
        }
        return to;
    }
    /// Marks what was metered and, of what was chosen, ignored. A mark for each frame in the loop
    /// above would cost an instruction per packet.
    static void mark(PacketMask chosen, ParsedBurst& parsed) noexcept {
        FrameBurst& burst = parsed.burst;
        if (parsed.packets.size() == static_cast<std::size_t>(std::popcount(chosen))) [[likely]] {
            burst.metered = chosen;
            return;
        }
        for (const KeyedPacket& packet : parsed.packets) {
            burst.metered |= mask_of(burst.index_of(*packet.packet));
        }
        burst.ignored |= chosen & ~burst.metered;
    }

    Source& source_;
    FrameParser parser_;
    std::array<PacketFields, kBurstPackets> fields_;
};

}  // namespace tributary
