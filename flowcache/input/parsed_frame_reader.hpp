// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/input/frame_burst.hpp"
#include "flowcache/input/frame_parser.hpp"
#include "flowcache/input/packet_reader.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

/// A frame that its source has parsed already, with the reader's own ParseOptions.
struct ParsedFrame {
    PacketFields fields;  ///< valid if the status is `ok`; their pointers lead into the frame
    PacketView packet;
    ParseStatus status{};  ///< as parse_packet() returns it
};

/// A burst of them.
struct ParsedFrames {
    std::span<ParsedFrame* const> frames;    ///< at most kBurstPackets, of this reader alone
    Timestamp now;                           ///< as in FrameBurst
    FrameOwner* owner = nullptr;             ///< as in FrameBurst
    const std::uint64_t* numbers = nullptr;  ///< as in FrameBurst
    std::uint64_t next_number{};             ///< as in FrameBurst
};

/// Where parsed frames come from. The source owns them from receive() to release(); until then the
/// reader may change their fields. A frame that a stage keeps is a copy.
template <class S>
concept ParsedFrameSource = requires(S source) {
    { source.receive() } noexcept -> std::same_as<ParsedFrames>;
    { source.release() } noexcept;
    { source.exhausted() } noexcept -> std::same_as<bool>;
};

/// The input path of parsed frames: filter, sample, track fragments. Packets and counters are those
/// of a FrameReader that receives the same frames.
template <ParsedFrameSource Source>
class ParsedFrameReader final : public PacketReader {
public:
    /// @param source  outlives the reader
    /// @param parts   with the ParseOptions of the source
    ParsedFrameReader(Source& source, const FrameParserParts& parts) noexcept
        : source_(source), parser_(parts, counters_) {}

    [[nodiscard]] ParsedBurst read_burst(KeyedBurst& keyed) noexcept override {
        const ParsedFrames source = source_.receive();
        const std::size_t count = source.frames.size();
        for (std::size_t i = 0; i < count; ++i) {
            packets_[i] = source.frames[i]->packet;
        }
        ParsedBurst parsed{.burst = {.frames = std::span(packets_).first(count),
                                     .now = source.now,
                                     .owner = source.owner,
                                     .numbers = source.numbers,
                                     .next_number = source.next_number},
                           .packets = {},
                           .received = count};
        FrameBurst& burst = parsed.burst;
        keyed.clear();
        FrameParser parser = parser_;  // a copy, which no store to fields can change
        const PacketMask chosen = parser_.choose(burst);
        for (PacketMask left = chosen; left != 0; left &= left - 1) {
            const auto next = static_cast<std::size_t>(std::countr_zero(left));
            ParsedFrame& frame = *source.frames[next];
            if (parser.finish_parsed(packets_[next], frame.status, frame.fields) ==
                ParseStatus::ok) {
                keyed.add(packets_[next], frame.fields);
            } else {
                burst.ignored |= mask_of(next);
            }
        }
        burst.metered = chosen & ~burst.ignored;
        parsed.packets = keyed.finish();
        counters_.received.add(count);
        return parsed;
    }
    void release(const FrameBurst& /*burst*/) noexcept override { source_.release(); }
    void set_filter(PacketSelector* filter) noexcept override { parser_.set_filter(filter); }
    [[nodiscard]] bool ended() const noexcept override { return source_.exhausted(); }
    [[nodiscard]] const KeptBuffers* kept() const noexcept override { return kept_of(source_); }

private:
    Source& source_;
    FrameParser parser_;
    std::array<PacketView, kBurstPackets> packets_;  ///< contiguous, for the filter
};

}  // namespace tributary
