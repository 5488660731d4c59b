// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "flowcache/input/frame_burst.hpp"
#include "parsers/packet.hpp"
#include "parsers/units.hpp"
#include "tests/support/packet_builder.hpp"

namespace tributary::test {

/// A source of frames through interface 7, in bursts of different sizes, each frame 10 ms after the
/// one before.
class TimedFrames {
public:
    /// @param frames  outlive the source
    explicit TimedFrames(const std::vector<Frame>& frames) {
        Timestamp time{std::chrono::seconds(1'700'000'000)};
        for (const Frame& frame : frames) {
            PacketView& view = views_.emplace_back(frame.view());
            view.ingress_interface = InterfaceIndex{7};
            view.seen_at = view.clock = time;
            time += std::chrono::milliseconds(10);
        }
    }
    [[nodiscard]] FrameBurst receive() noexcept {
        const std::size_t count = std::min(views_.size() - next_, 1 + next_ % kBurstPackets);
        const std::span burst = std::span(views_).subspan(next_, count);
        next_ += count;
        return {.frames = burst, .now = count == 0 ? views_.back().clock : burst.back().clock};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}
    [[nodiscard]] bool exhausted() const noexcept { return next_ == views_.size(); }

private:
    std::vector<PacketView> views_;
    std::size_t next_ = 0;
};

}  // namespace tributary::test
