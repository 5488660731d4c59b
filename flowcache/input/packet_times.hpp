// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "flowcache/input/packet_selector.hpp"
#include "parsers/packet.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// A clock made of the times that packets bring with them: the highest so far, 1 s before any. A
/// time outside kFirstTimestamp .. latest_good() becomes the last good one.
///
/// @thread  one
class PacketTimes {
public:
    /// @param time  of a packet, as it came
    /// @return      the same, or the last good one where it is bad
    [[nodiscard]] Timestamp stamp(Timestamp time) noexcept {
        last_good_ = is_good(time) ? time : last_good_;
        advance(last_good_);
        return last_good_;
    }

    /// Stamps packets in their order: replaces `seen_at` where it is bad, and sets `clock`.
    ///
    /// @param packets  at most kBurstPackets
    /// @return         those whose time was bad
    [[nodiscard]] PacketMask stamp(std::span<PacketView> packets) noexcept {
        PacketMask bad = 0;
        PacketTimes times = *this;  // a copy that no packet's address can alias stays in registers
        for (std::size_t i = 0; i < packets.size(); ++i) {
            const Timestamp time = packets[i].seen_at;
            bad |= PacketMask{!times.is_good(time)} << i;
            packets[i].seen_at = times.stamp(time);
            packets[i].clock = times.now_;
        }
        *this = times;
        return bad;
    }

    /// For a clock that other times move too.
    void advance(Timestamp time) noexcept { now_ = time > now_ ? time : now_; }
    /// Moves the clock on, and with it the last good time.
    void go_on(Timestamp time) noexcept {
        advance(time);
        last_good_ = now_;
    }
    /// Sets the clock and the last good time to an earlier time.
    void go_back(Timestamp time) noexcept {
        now_ = time;
        last_good_ = time;
    }
    [[nodiscard]] Timestamp now() const noexcept { return now_; }

    /// For a clock with a limit that times of packets cannot pass yet.
    ///
    /// @param time  at most kLastTimestamp, which it is until the first call
    void set_latest_good(Timestamp time) noexcept { latest_good_ = time; }
    [[nodiscard]] Timestamp latest_good() const noexcept { return latest_good_; }
    [[nodiscard]] bool is_good(Timestamp time) const noexcept {
        return time >= kFirstTimestamp && time <= latest_good_;
    }

private:
    Timestamp latest_good_ = kLastTimestamp;
    Timestamp last_good_ = kFirstTimestamp;
    Timestamp now_ = kFirstTimestamp;
};

}  // namespace tributary
