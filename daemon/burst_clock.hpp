// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <span>

#include "flowcache/counter.hpp"
#include "flowcache/packet_selector.hpp"
#include "flowcache/packet_times.hpp"
#include "parsers/packet.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// The clock of a live queue, which never goes back. Without packet times it is the host's clock,
/// read once per burst; where that is set back, time goes on from where it was, a little slower
/// until the host has caught up, because packets stamped before the clock would end their flows.
/// With packet times it is the highest of them, and on an empty poll it moves on by the host's time
/// since the last packet, so that idle flows expire; it stays at 1 s until the first packet, whose
/// time may lie far in the past.
///
/// A packet time that is ahead of the host's clock by more than kFurthestAhead is bad. Without that
/// bound a single one, of a sender with a wrong clock, would take this clock with it for good: each
/// later packet would be past its own flow's deadline and a record of its own.
///
/// @thread  the queue's input thread; bad_timestamps() any
class BurstClock {
public:
    /// Well above what NTP leaves between two hosts, well below idle timeouts in use.
    static constexpr std::chrono::seconds kFurthestAhead{10};

    explicit BurstClock(bool packet_times) noexcept : packet_times_(packet_times) {}

    /// @param host  the host's clock now
    void begin_burst(Timestamp host) noexcept {
        host_ = without_steps_back(host);
        times_.set_latest_good(std::min(host_, kLastTimestamp - kFurthestAhead) + kFurthestAhead);
        if (!packet_times_) {
            advance(host_);
        }
    }
    /// @return  the time of a packet that carries none
    Timestamp stamp() noexcept { return stamp(host_); }
    /// @param time  of a packet, as it came
    /// @return      the same, or the last good one where it is out of range or too far ahead, which
    ///              is counted
    Timestamp stamp(Timestamp time) noexcept {
        if (!times_.is_good(time)) {
            bad_timestamps_.add();
        }
        const Timestamp stamped = times_.stamp(time);
        note_packets();
        return stamped;
    }
    /// Stamps packets as PacketTimes does, and counts the bad times.
    PacketMask stamp(std::span<PacketView> packets) noexcept {
        const PacketMask bad = times_.stamp(packets);
        if (bad != 0) {
            bad_timestamps_.add(static_cast<std::size_t>(std::popcount(bad)));
        }
        if (!packets.empty()) {
            note_packets();
        }
        return bad;
    }
    /// For a poll that brought nothing, after begin_burst().
    void end_empty_burst() noexcept {
        if (packet_times_ && any_packet_ && host_ > host_at_last_packet_) {
            advance(now_at_last_packet_ + (host_ - host_at_last_packet_));
        }
    }
    [[nodiscard]] Timestamp now() const noexcept { return times_.now(); }
    [[nodiscard]] const Counter& bad_timestamps() const noexcept { return bad_timestamps_; }

private:
    [[nodiscard]] Timestamp without_steps_back(Timestamp host) noexcept {
        constexpr int kCatchUp = 1024;  // one part in 1024: a step of a second takes 17 minutes
        if (host < raw_host_) {
            ahead_ += raw_host_ - host;
        } else {
            ahead_ -= std::min(ahead_, (host - raw_host_) / kCatchUp);
        }
        raw_host_ = host;
        return host + ahead_;
    }
    void advance(Timestamp time) noexcept { times_.advance(std::min(time, kLastTimestamp)); }
    void note_packets() noexcept {
        host_at_last_packet_ = host_;
        now_at_last_packet_ = times_.now();
        any_packet_ = true;
    }

    bool packet_times_;
    bool any_packet_ = false;
    Timestamp raw_host_{};         ///< as it was read
    Timestamp::duration ahead_{};  ///< of our time, after the host's clock was set back
    Timestamp host_{};
    PacketTimes times_;
    Timestamp host_at_last_packet_{};
    Timestamp now_at_last_packet_{};
    Counter bad_timestamps_;
};

}  // namespace tributary
