// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "flowcache/input/frame_burst.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/packet.hpp"
#include "perf/support/huge_memory.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/random.hpp"
#include "perf/support/tcp_sender.hpp"
#include "tests/support/packet_builder.hpp"

// Traffic for the flow cache: many active flows, new flows that replace old ones, and a source that
// writes the packets into the buffers of a receive ring.

namespace tributary::perf {

/// How often each flow sends.
enum class Spread : std::uint8_t { uniform, zipf };

struct FlowTraffic {
    std::uint32_t flows{};    ///< active at any time
    double new_per_second{};  ///< share of the flows replaced by new ones, in packet time
    std::uint8_t ip_version = 4;
    Spread spread = Spread::uniform;
    FlowDirection direction =
        FlowDirection::uniflow;  ///< biflow: packets come both ways, by chance
    /// TCP segments with these faults, IPv4 and uniflow only; none: UDP.
    std::optional<SegmentFaults> tcp{};
};

/// Chooses the flow of the next packet. Each flow has a slot until a new one takes it; slots are
/// renewed in turn.
class FlowPopulation {
public:
    explicit FlowPopulation(const FlowTraffic& traffic) noexcept
        : traffic_(traffic), ranks_(traffic.flows) {}

    /// @return  the slot of the next packet's flow
    std::uint32_t next() noexcept {
        return traffic_.spread == Spread::zipf ? ranks_.next(random_)
                                               : random_.below(traffic_.flows);
    }
    /// The slot's number of former flows.
    [[nodiscard]] std::uint32_t generation(std::uint32_t slot) const noexcept {
        return generation_ + static_cast<std::uint32_t>(slot < renewed_);
    }
    /// The number of a slot's present flow.
    [[nodiscard]] std::uint32_t in_slot(std::uint32_t slot) const noexcept {
        return slot + traffic_.flows * generation(slot);
    }
    /// Renews the slots that are due after `time`.
    void advance(Timestamp::duration time) noexcept {
        due_ +=
            traffic_.new_per_second * traffic_.flows * std::chrono::duration<double>(time).count();
        const auto now = static_cast<std::uint32_t>(due_);
        due_ -= now;
        renewed_ += now;
        for (; renewed_ >= traffic_.flows; renewed_ -= traffic_.flows) {
            ++generation_;
        }
    }

private:
    FlowTraffic traffic_;
    Random random_;
    ZipfRanks ranks_;
    std::uint32_t generation_ = 0;
    std::uint32_t renewed_ = 0;  ///< slots of this generation with flows of the next
    double due_ = 0;             ///< part of a new flow, below 1
};

/// A receive ring with buffers that are rewritten all the time, as a NIC's DMA leaves them in the
/// last-level cache: mbuf-sized, only the headers of each packet change. Models PacketSource. The
/// clock is read once per burst, as in DpdkQueue; here it advances at a set rate.
class FlowNic {
public:
    static constexpr std::size_t kRingBuffers = 4096;  ///< the default of `rx-descriptors`
    /// An mbuf with headroom and 2 KiB of data, as rte_pktmbuf_pool_create lays them out: an odd
    /// number of lines, so that the frames do not all fall into the same cache sets.
    static constexpr std::size_t kBufferBytes = 37 * 64;

    explicit FlowNic(const FlowTraffic& traffic)
        : traffic_(traffic),
          population_(traffic),
          ways_{traffic.tcp ? tcp_forward() : forward(traffic.ip_version),
                backward(traffic.ip_version)},
          ring_(kRingBuffers * kBufferBytes) {
        if (traffic.tcp) {
            demand(traffic.ip_version == 4 && traffic.direction == FlowDirection::uniflow,
                   "TCP comes over IPv4, one way");
            tcp_.emplace(traffic.flows, *traffic.tcp);
        }
    }

    /// From now on, this much packet time passes per packet.
    void set_packet_time(double nanoseconds) noexcept {
        burst_time_ = Timestamp::duration{std::llround(nanoseconds * kBurstPackets)};
    }
    /// The next packets bring the flows to their state after a long time. Each slot's flow sends;
    /// between them, at random, come as many flows that are silent afterwards as became silent in
    /// `lasting`, the time of these packets. Then each slot's flow sends again, in no time, so that
    /// none of them is about to be idle.
    ///
    /// Not alternately: active flows would then lie in exactly every second line, which real
    /// traffic does not do for long, and EPYC processors of the fourth generation drop requests
    /// into the second-level cache (prefetcht1) for such lines: 30 to 35 ns per packet of 131,072
    /// flows instead of 15.5.
    void fill(Timestamp::duration lasting) noexcept {
        const double silent =
            traffic_.new_per_second * std::chrono::duration<double>(lasting).count();
        fill_left_ = refresh_left_ = traffic_.flows;
        silent_left_ = static_cast<std::uint32_t>(traffic_.flows * silent);
        const std::size_t packets = std::max<std::size_t>(fill_left_ + silent_left_, kBurstPackets);
        burst_time_ =
            lasting * static_cast<std::int64_t>(kBurstPackets) / static_cast<std::int64_t>(packets);
    }
    [[nodiscard]] bool filled() const noexcept { return refresh_left_ == 0; }

    [[nodiscard]] FrameBurst receive() noexcept {
        const bool filling = !filled();
        if (filling && fill_left_ + silent_left_ == 0) {
            burst_time_ = {};
        }
        now_ += burst_time_;
        if (!filling) {
            population_.advance(burst_time_);
        }
        for (std::uint32_t& slot : slots_) {
            slot = filling ? next_of_fill() : population_.next();
            if (tcp_ && slot < kFirstSilent) {
                tcp_->prefetch(slot);
            }
        }
        const std::uint32_t* slot = slots_.data();
        for (PacketView& packet : packets_) {
            std::byte* const buffer = ring_.bytes().data() + next_ * kBufferBytes;
            next_ = (next_ + 1) % kRingBuffers;
            const std::uint32_t bytes = write(buffer, *slot++);
            packet = {.captured = {buffer, bytes},
                      .wire_bytes = bytes,
                      .link_type = LinkType::ethernet,
                      .ingress_interface = {1},
                      .seen_at = now_,
                      .clock = now_};
        }
        return {.frames = packets_, .now = now_};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}
    /// The segments sent by TCP.
    [[nodiscard]] SentSegments sent() const noexcept {
        return tcp_ ? tcp_->sent() : SentSegments{};
    }

private:
    static constexpr std::size_t kWrittenBytes = 64;
    /// Numbers from here on are not slots, but flows that send once.
    static constexpr std::uint32_t kFirstSilent = 0x8000'0000;

    /// Frames of one direction: all but the four octets that identify the flow.
    struct Way {
        std::array<std::byte, kWrittenBytes> frame{};
        std::size_t address_at{};
        std::uint32_t frame_bytes{};

        Way(const test::Frame& from, std::size_t at)
            : address_at(at), frame_bytes(static_cast<std::uint32_t>(from.captured.size())) {
            std::copy_n(from.captured.begin(), std::min(from.captured.size(), kWrittenBytes),
                        frame.begin());
        }
    };
    static Way forward(std::uint8_t ip_version) {
        using test::ethernet;
        return ip_version == 4
                   ? Way(ethernet().ipv4({.source = "0.0.0.0"}).udp(1000, 53).payload(18).build(),
                         14 + 12)
                   : Way(ethernet().ipv6({.source = "2001:db8::"}).udp(1000, 53).build(),
                         14 + 8 + 12);
    }
    static Way tcp_forward() {
        return Way(test::ethernet()
                       .ipv4({.source = "0.0.0.0"})
                       .tcp(1000, 80, tcp_flag::kAck, TcpSender::kWindow)
                       .payload(TcpSender::kPayloadBytes)
                       .build(),
                   14 + 12);
    }
    static Way backward(std::uint8_t ip_version) {
        using test::ethernet;
        return ip_version == 4 ? Way(ethernet()
                                         .ipv4({.source = test::Ipv4Header{}.destination,
                                                .destination = "0.0.0.0"})
                                         .udp(53, 1000)
                                         .payload(18)
                                         .build(),
                                     14 + 16)
                               : Way(ethernet()
                                         .ipv6({.source = test::Ipv6Header{}.destination,
                                                .destination = "2001:db8::"})
                                         .udp(53, 1000)
                                         .build(),
                                     14 + 24 + 12);
    }

    /// @return  a slot, or the number of a flow that sends once
    std::uint32_t next_of_fill() noexcept {
        if (const std::uint32_t left = fill_left_ + silent_left_; left > 0) {
            if (random_.below(left) >= silent_left_) {
                return --fill_left_;
            }
            --silent_left_;
            return silent_flow_++;
        }
        refresh_left_ -= static_cast<std::uint32_t>(refresh_left_ > 0);  // 0: the burst's rest
        return refresh_left_;
    }

    /// @return  the frame's length
    std::uint32_t write(std::byte* buffer, std::uint32_t slot) noexcept {
        const bool both = traffic_.direction == FlowDirection::biflow;
        const Way& way = ways_[both ? random_.below(2) : 0];
        const std::uint32_t flow = slot < kFirstSilent ? population_.in_slot(slot) : slot;
        const std::uint32_t address = scrambled(flow);
        std::memcpy(buffer, way.frame.data(), kWrittenBytes);
        std::memcpy(buffer + way.address_at, &address, sizeof address);
        if (tcp_) {
            write_segment(*tcp_, buffer, slot, address);
        }
        return way.frame_bytes;
    }
    /// @param first  the flow's first sequence number
    void write_segment(TcpSender& sender, std::byte* buffer, std::uint32_t slot,
                       std::uint32_t first) const noexcept {
        constexpr std::size_t kIdentification = 14 + 4;
        constexpr std::size_t kSequence = 14 + 20 + 4;
        const TcpSender::Segment segment =
            slot < kFirstSilent ? sender.next(slot, population_.generation(slot)) : sender.single();
        const std::uint16_t identification = __builtin_bswap16(segment.identification);
        const std::uint32_t sequence = __builtin_bswap32(first + segment.sequence);
        std::memcpy(buffer + kIdentification, &identification, sizeof identification);
        std::memcpy(buffer + kSequence, &sequence, sizeof sequence);
    }

    FlowTraffic traffic_;
    FlowPopulation population_;
    std::array<Way, 2> ways_;
    /// For directions and the order of new flows; independent of the population's.
    Random random_{0x2545'F491'4F6C'DD1D};
    std::optional<TcpSender> tcp_;
    HugeMemory ring_;
    std::size_t next_ = 0;
    Timestamp now_{std::chrono::seconds{1'700'000'000}};
    Timestamp::duration burst_time_{};
    std::uint32_t fill_left_ = 0;     ///< slots with a flow that has not sent yet
    std::uint32_t refresh_left_ = 0;  ///< slots with a flow that sends once more
    std::uint32_t silent_left_ = 0;   ///< silent flows that have not sent yet
    std::uint32_t silent_flow_ = kFirstSilent;
    std::array<std::uint32_t, kBurstPackets> slots_{};
    std::vector<PacketView> packets_ = std::vector<PacketView>(kBurstPackets);
};

}  // namespace tributary::perf
