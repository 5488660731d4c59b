// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "flowcache/frame_parser.hpp"
#include "flowcache/input_path.hpp"
#include "flowcache/packet_selector.hpp"
#include "parsers/packet.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

/// The input path of frames: filter, sample, parse, track fragments.
template <PacketSource Source>
class FrameInput final : public InputPath {
public:
    /// @param source  outlives the path
    FrameInput(Source& source, const FrameInputParts& parts) noexcept
        : source_(source), parser_(parts, counters_) {}

    [[nodiscard]] ParsedBurst receive(KeyedBurst& keyed) noexcept override {
        const Burst burst = source_.receive();
        PacketFields* fields = fields_.data();
        keyed.clear();
        const PacketMask passed = parser_.filter(burst.packets);
        for (PacketMask left = parser_.sample(burst.packets, passed); left != 0; left &= left - 1) {
            const PacketView& packet =
                burst.packets[static_cast<std::size_t>(std::countr_zero(left))];
            if (parser_.parse(packet, *fields) == ParseStatus::ok) {
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
    Source& source_;
    FrameParser parser_;
    std::array<PacketFields, kBurstPackets> fields_;
};

}  // namespace tributary
