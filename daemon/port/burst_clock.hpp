// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <span>

#include "daemon/machine/host_time.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/record/counter.hpp"
#include "parsers/packet.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// The clock of a live queue. Without packet times it is the host's clock, read once per burst and
/// followed by HostTime. With packet times it is the highest packet time, and on an empty poll it
/// advances by the uptime since the last packet, so that idle flows expire. Until the first packet
/// it stays at 1 s, because that packet's time may lie far in the past.
///
/// It goes back to the host's clock only if that was set back and it would be ahead by more than
/// kFurthestAhead. Packets stamped until the host's clock is right again, or believed, count as
/// bad_timestamp.
///
/// A packet time more than kFurthestAhead ahead of the host's clock is bad. Without that bound a
/// single packet from a sender with a wrong clock would advance this clock for good: each later
/// packet would be past its own flow's deadline and a record of its own. Bad packets get the last
/// good time. After more than a second of only bad packets that time advances by the uptime.
///
/// @thread  the queue's input thread; bad_timestamps() and host_time()'s readings any
class BurstClock {
public:
    explicit BurstClock(bool packet_times, HostTime::Uptime uptime = host_uptime) noexcept
        : packet_times_(packet_times), uptime_(uptime), host_time_(uptime) {}

    /// @param host  the host's clock now
    void begin_burst(Timestamp host) noexcept {
        const bool goes_back = host_time_.follow(host);
        if (packet_times_) {
            begin_burst_of_packet_times(host);
            return;
        }
        host_ = host_time_.now();
        set_latest_good(host_);
        if (goes_back) [[unlikely]] {
            times_.go_back(within_range(host_));
        }
        advance(host_);
    }
    /// For a poll with packets, after they were stamped.
    void end_burst(std::size_t packets) noexcept {
        if (!packet_times_ && host_time_.is_set_back()) [[unlikely]] {
            bad_timestamps_.add(times_.is_good(host_) ? packets : 0);  // else stamp() counts each
        }
    }
    /// @return  the time of a packet without a time of its own
    Timestamp stamp() noexcept { return stamp(host_); }
    /// @param time  of a packet, as received
    /// @return      the same; or, counted, the last good time if `time` is out of range or too far
    ///              ahead
    Timestamp stamp(Timestamp time) noexcept {
        const bool is_good = times_.is_good(time);
        if (!is_good) {
            bad_timestamps_.add();
        }
        const Timestamp stamped = times_.stamp(time);
        note_packets(is_good);
        return stamped;
    }
    /// Stamps packets as PacketTimes does, and counts the bad times.
    PacketMask stamp(std::span<PacketView> packets) noexcept {
        const PacketMask bad = times_.stamp(packets);
        if (bad != 0) {
            bad_timestamps_.add(static_cast<std::size_t>(std::popcount(bad)));
        }
        if (!packets.empty()) {
            note_packets(bad != mask_of_all(packets));
        }
        return bad;
    }
    /// For an empty poll, after begin_burst().
    void end_empty_burst() noexcept {
        if (packet_times_ && any_packet_) {
            advance(moved_on());
        }
    }
    [[nodiscard]] Timestamp now() const noexcept { return times_.now(); }
    [[nodiscard]] const Counter& bad_timestamps() const noexcept { return bad_timestamps_; }
    [[nodiscard]] const HostTime& host_time() const noexcept { return host_time_; }

private:
    void begin_burst_of_packet_times(Timestamp host) noexcept {
        host_ = host_time_.now();
        uptime_now_ = uptime_();
        set_latest_good(host);
        if (times_.now() > times_.latest_good()) [[unlikely]] {  // the host's clock went back
            times_.go_back(within_range(host));
            note_packets(true);
        } else if (any_bad_ && !any_good_ &&
                   uptime_now_ - uptime_at_last_packet_ > std::chrono::seconds(1)) [[unlikely]] {
            times_.go_on(moved_on());
        }
        any_bad_ = false;
        any_good_ = false;
    }
    [[nodiscard]] static Timestamp within_range(Timestamp time) noexcept {
        return std::clamp(time, kFirstTimestamp, kLastTimestamp);
    }
    void set_latest_good(Timestamp host) noexcept {
        times_.set_latest_good(std::min(host, kLastTimestamp - kFurthestAhead) + kFurthestAhead);
    }
    void advance(Timestamp time) noexcept { times_.advance(std::min(time, kLastTimestamp)); }
    /// The clock at the last good packet, plus the uptime since.
    [[nodiscard]] Timestamp moved_on() const noexcept {
        return std::min(now_at_last_packet_ + (uptime_now_ - uptime_at_last_packet_),
                        times_.latest_good());
    }
    void note_packets(bool any_good) noexcept {
        any_good_ = any_good_ || any_good;
        any_bad_ = any_bad_ || !any_good;
        if (any_good || !any_packet_) {
            uptime_at_last_packet_ = uptime_now_;
            now_at_last_packet_ = times_.now();
            any_packet_ = true;
        }
    }

    bool packet_times_;
    bool any_packet_ = false;
    bool any_good_ = false;  ///< packet of this burst
    bool any_bad_ = false;   ///< packet of this burst
    HostTime::Uptime uptime_;
    HostTime host_time_;
    Timestamp host_{};
    PacketTimes times_;
    Timestamp::duration uptime_now_{};  ///< of this burst; with packet times only
    Timestamp::duration uptime_at_last_packet_{};
    Timestamp now_at_last_packet_{};
    Counter bad_timestamps_;
};

}  // namespace tributary
