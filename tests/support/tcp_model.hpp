// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "flowcache/record/flow_record.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary::test {

/// The same numbers on every machine, which std::uniform_int_distribution does not promise.
/// @source  splitmix64, Steele, Lea and Flood (2014)
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ += 0x9E37'79B9'7F4A'7C15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBU;
        return mixed ^ (mixed >> 31U);
    }
    /// 0 .. limit - 1
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(next() % limit); }
    /// first .. last
    std::uint32_t between(std::uint32_t first, std::uint32_t last) {
        return first + below(last - first + 1);
    }
    bool once_in(std::uint32_t n) { return below(n) == 0; }

private:
    std::uint64_t state_;
};

/// One direction of a TCP connection, as seen by a monitor on its path, and the true counts. The
/// model counts events when it makes them: it never examines earlier segments, because it records
/// its own losses.
///
///     sender --- lost before ---> monitor --- lost behind ---> receiver
///                the monitor sees         the monitor sees
///                a hole, then             a segment, then
///                what is out of order     its retransmission
class TcpModel {
public:
    struct Seen {
        PacketFields fields;
        Timestamp seen_at;
    };
    struct Host {
        std::uint32_t initial_sequence = 0;
        bool is_ipv6 = false;            ///< the checksum identifies copies
        bool has_identification = true;  ///< false: 0 in each packet, as from hosts with DF
    };
    /// The parts in which lost segments are sent again.
    enum class Parts : std::uint8_t { as_before, joined, other_boundaries };

    static constexpr std::chrono::milliseconds kStep{1};  ///< between two segments

    TcpModel(std::uint64_t seed, const Host& host)
        : random_(seed), host_(host), initial_(host.initial_sequence) {}

    [[nodiscard]] const std::vector<Seen>& stream() const { return stream_; }
    [[nodiscard]] const TcpAnalysisGroup& truth() const { return truth_; }
    /// Pairs of lost segments that were not sent again.
    [[nodiscard]] std::size_t lost_pairs() const { return lost_.size(); }

    void open() {
        opened_at_ = now_;
        invalidate_size_if(++opened_ > 1);
        emit(segment(initial_, 0, tcp_flag::kSyn));
    }
    /// Reuses the ports for another connection. Lost segments of the one before stay lost.
    void reuse_ports(std::uint32_t initial_sequence) {
        lost_.clear();
        initial_ = initial_sequence;
        sent_ = 0;
        is_closed_ = false;
        open();
    }
    /// Sends new data that arrives.
    void send(std::uint32_t octets) {
        emit(data(sent_, octets));
        sent_ += octets;
    }
    /// Sends two segments of new data that do not arrive. At least the following segments pass the
    /// monitor.
    void lose(std::array<std::uint32_t, 2> octets, bool first_passes, bool second_passes) {
        const std::uint32_t middle = sent_ + octets[0];
        const std::uint32_t end = middle + octets[1];
        // A loss before the very first segment leaves no gap.
        const bool leaves_gap =
            !second_passes ? first_passes || !stream_.empty() : !first_passes && !stream_.empty();
        if (first_passes) {
            emit(data(sent_, octets[0]));
        }
        if (second_passes) {
            emit(data(middle, octets[1]));
        }
        lost_.push_back({sent_, middle, end, first_passes, second_passes});
        sent_ = end;
        if (!second_passes) {
            send(random_.between(2, 40));
        }
        if (leaves_gap) {
            note_disturbance();
        }
    }
    void lose_behind(std::uint32_t octets) { lose({octets, octets}, true, true); }
    void lose_before(std::uint32_t octets) { lose({octets, octets}, false, false); }
    /// Sends a lost pair again, if there is one.
    ///
    /// @param is_lost_again  after the monitor, so that it is sent once more later
    void repair(Parts parts, bool is_lost_again) {
        if (lost_.empty()) {
            return;
        }
        const std::size_t chosen = random_.below(static_cast<std::uint32_t>(lost_.size()));
        const Lost pair = lost_[chosen];
        lost_.erase(lost_.begin() + static_cast<std::ptrdiff_t>(chosen));
        const std::uint32_t first_seen = pair.first_passed ? 1 : 0;
        const std::uint32_t second_seen = pair.second_passed ? 1 : 0;
        if (parts == Parts::as_before) {
            resend(pair.begin, pair.middle, first_seen * (pair.middle - pair.begin));
            resend(pair.middle, pair.end, second_seen * (pair.end - pair.middle));
        } else if (parts == Parts::joined) {
            resend(
                pair.begin, pair.end,
                first_seen * (pair.middle - pair.begin) + second_seen * (pair.end - pair.middle));
        } else {
            resend_with_other_boundaries(pair);
        }
        if (is_lost_again) {
            lost_.push_back({pair.begin, pair.middle, pair.end, true, true});
        }
    }
    /// Sends two segments that change places before the monitor.
    void reorder(std::uint32_t first, std::uint32_t second) {
        const PacketFields late = data(sent_, first);
        emit(data(sent_ + first, second));
        emit(late);
        note_loss(truth_.out_of_order);
        sent_ += first + second;
    }
    /// Sends a segment that is lost after the monitor again, with new data at its end.
    void send_again_with_more(std::uint32_t octets, std::uint32_t more) {
        send(octets);
        resend(sent_ - octets, sent_ + more, octets);
        sent_ += more;
    }
    /// A switch delivers an earlier segment twice: so many segments before, copies not counted.
    ///
    /// @param back  1: the last one; at most remembered()
    void copy(std::size_t back) {
        const PacketFields& original = originals_[originals_.size() - back];
        show(original);
        note_loss(truth_.duplicates);
    }
    /// How far back a copy is found: 3 segments; 11 after the direction's first anomaly, but none
    /// that was already forgotten then.
    [[nodiscard]] std::size_t remembered() const {
        const std::size_t count = originals_.size();
        return is_disturbed_ ? std::min<std::size_t>(11, count - kept_from_)
                             : std::min<std::size_t>(3, count);
    }
    [[nodiscard]] std::size_t originals() const { return originals_.size(); }
    /// Is silent for longer than a copy may take.
    void be_silent() {
        now_ += std::chrono::seconds{2};
        originals_.clear();
        kept_from_ = 0;
    }
    /// Sends a keep-alive probe to an idle peer. Before the first octet of data there is none to
    /// repeat. The first segment of all never counts as a probe: send another one before.
    void probe(bool with_octet) {
        be_silent();
        emit(segment(sequence_of(sent_) - 1, with_octet && sent_ > 0 ? 1 : 0, tcp_flag::kAck));
        note_loss(truth_.keep_alives);
    }
    void acknowledge(bool is_full = false) {
        acknowledged_ += random_.between(1, 1000);
        PacketFields fields = segment(sequence_of(sent_) + (is_closed_ ? 1 : 0), 0, tcp_flag::kAck);
        fields.tcp.window = is_full ? std::uint16_t{0} : fields.tcp.window;
        emit(fields);
    }
    void close(std::uint32_t octets) {
        invalidate_size_if(true);
        if (++closed_ == 1 && opened_ == 1) {
            truth_.flow_size = sent_ + octets;
            truth_.duration = (now_ - opened_at_).count();
        }
        emit(segment(sequence_of(sent_), octets, tcp_flag::kAck | tcp_flag::kFin));
        sent_ += octets;
        is_closed_ = true;
    }
    void reset() {
        PacketFields fields = segment(sequence_of(sent_), 0, tcp_flag::kRst);
        fields.tcp.window = 0;
        emit(fields);
    }

private:
    struct Lost {  ///< offsets in the connection's data
        std::uint32_t begin;
        std::uint32_t middle;
        std::uint32_t end;
        bool first_passed;  ///< the monitor saw begin to middle
        bool second_passed;
    };

    [[nodiscard]] std::uint32_t sequence_of(std::uint32_t place) const {
        return initial_ + 1 + place;
    }
    /// A unique packet: by its identification, a checksum over a time stamp, or at least its
    /// acknowledgement.
    PacketFields segment(std::uint32_t sequence, std::uint32_t octets, int flags) {
        PacketFields fields{.protocol = ip_protocol::kTcp,
                            .ip_version = static_cast<std::uint8_t>(host_.is_ipv6 ? 6 : 4),
                            .ip_bytes = (host_.is_ipv6 ? 72 : 52) + octets,
                            .tcp_control_bits = static_cast<std::uint16_t>(flags),
                            .ttl = 57,
                            .has_tcp_segment = true};
        ++packets_;
        fields.tcp = {.sequence = sequence,
                      .acknowledgement = acknowledged_,
                      .payload_bytes = octets,
                      .window = 501};
        if (host_.is_ipv6) {
            fields.tcp.copy_id = static_cast<std::uint16_t>(packets_ * 40503U);
        } else if (host_.has_identification) {
            fields.tcp.copy_id = static_cast<std::uint16_t>(packets_);
        } else {
            fields.tcp.acknowledgement = ++acknowledged_;
        }
        return fields;
    }
    /// A single octet has PSH, because without it the last octet would be a probe.
    PacketFields data(std::uint32_t place, std::uint32_t octets) {
        const bool is_pushed = octets == 1 || random_.once_in(4);
        return segment(sequence_of(place), octets,
                       tcp_flag::kAck | (is_pushed ? tcp_flag::kPsh : 0));
    }
    void resend(std::uint32_t begin, std::uint32_t end, std::uint32_t seen) {
        emit(data(begin, end - begin));
        note_loss(seen > 0 ? truth_.retransmissions : truth_.out_of_order);
        truth_.retransmitted_octets += seen;
    }
    /// Sends three segments in any order; one has octets of both lost segments.
    void resend_with_other_boundaries(const Lost& pair) {
        struct Part {
            std::uint32_t begin;
            std::uint32_t end;
            std::uint32_t seen;
        };
        const std::uint32_t first_cut = random_.between(pair.begin + 1, pair.middle - 1);
        const std::uint32_t second_cut = random_.between(pair.middle + 1, pair.end - 1);
        const std::uint32_t first = pair.first_passed ? 1 : 0;
        const std::uint32_t second = pair.second_passed ? 1 : 0;
        std::array<Part, 3> parts{
            Part{pair.begin, first_cut, first * (first_cut - pair.begin)},
            Part{first_cut, second_cut,
                 first * (pair.middle - first_cut) + second * (second_cut - pair.middle)},
            Part{second_cut, pair.end, second * (pair.end - second_cut)}};
        std::swap(parts[0], parts[random_.below(3)]);
        std::swap(parts[1], parts[random_.between(1, 2)]);
        for (const Part& part : parts) {
            resend(part.begin, part.end, part.seen);
        }
    }
    void emit(const PacketFields& fields) {
        originals_.push_back(fields);
        show(fields);
    }
    void show(const PacketFields& fields) {
        if (stream_.empty()) {
            truth_.sequence = fields.tcp.sequence;
            truth_.window = fields.tcp.window;
        }
        const auto add_if = [&fields](int flag, std::uint16_t& counter) {
            counter = static_cast<std::uint16_t>(counter +
                                                 ((fields.tcp_control_bits & flag) != 0 ? 1 : 0));
        };
        ++truth_.segments;
        truth_.data_segments += fields.tcp.payload_bytes > 0 ? 1 : 0;
        add_if(tcp_flag::kSyn, truth_.syn);
        add_if(tcp_flag::kFin, truth_.fin);
        add_if(tcp_flag::kRst, truth_.rst);
        if (fields.tcp.window == 0 && (fields.tcp_control_bits & tcp_flag::kRst) == 0) {
            ++truth_.zero_windows;
        }
        stream_.push_back({fields, now_});
        now_ += kStep;
    }
    void note_loss(std::uint32_t& counter) {
        ++counter;
        note_disturbance();
    }
    void note_disturbance() {
        if (!is_disturbed_) {
            is_disturbed_ = true;
            kept_from_ = originals_.size() - std::min<std::size_t>(3, originals_.size());
        }
    }
    void invalidate_size_if(bool applies) {
        if (applies) {
            truth_.flow_size = TcpAnalysisGroup::kNoSize;
            truth_.duration = 0;
        }
    }

    Random random_;
    Host host_;
    std::vector<Seen> stream_;
    TcpAnalysisGroup truth_;
    std::vector<PacketFields> originals_;  ///< since the last silence; no copies
    std::vector<Lost> lost_;
    Timestamp now_{std::chrono::seconds{1'700'000'000}};
    Timestamp opened_at_{};
    std::uint32_t initial_;
    std::uint32_t sent_ = 0;  ///< octets of new data
    std::uint32_t acknowledged_ = 1'000'000;
    std::uint32_t packets_ = 0;
    std::size_t kept_from_ = 0;  ///< of the originals
    int opened_ = 0;
    int closed_ = 0;
    bool is_closed_ = false;
    bool is_disturbed_ = false;
};

}  // namespace tributary::test
