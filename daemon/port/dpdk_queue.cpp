// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/dpdk_queue.hpp"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_prefetch.h>
#include <sysexits.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "daemon/base/startup_error.hpp"
#include "daemon/machine/host_clock.hpp"
#include "parsers/frame_extent.hpp"

namespace tributary {
namespace {

bool has_packet_times(const EthPort& port) { return port.driver() == "net_pcap"; }

/// A value out of range stays out of range: the factor must not wrap it into range.
Timestamp from_microseconds(std::uint64_t microseconds) noexcept {
    constexpr std::uint64_t kBeyond = std::uint64_t{1} << 52U;
    return Timestamp{std::chrono::microseconds{std::min(microseconds, kBeyond)}};
}

}  // namespace

DpdkQueue::DpdkQueue(const EthPort& port, std::uint16_t queue, InterfaceIndex ingress_interface,
                     ClockOf clock_of)
    : eth_port_(port),
      port_(port.id().value),
      queue_(queue),
      ingress_interface_(ingress_interface),
      octets_of_cut_frame_(port.octets_of_cut_frame()),
      uses_host_clock_(clock_of == ClockOf::records && !has_packet_times(port)),
      unmap_guard_(port.driver()),
      clock_(has_packet_times(port)),
      kept_(new KeptMbufs(port.kept_buffers(), port.pools())) {
    if (!has_packet_times(port)) {
        return;
    }
    if (rte_mbuf_dyn_rx_timestamp_register(&timestamp_offset_, &timestamp_flag_) != 0) {
        throw StartupError(EX_OSERR, std::string("no room for timestamps in packet buffers: ") +
                                         rte_strerror(rte_errno));
    }
}

FrameBurst DpdkQueue::receive() noexcept {
    // Acquire, for the release in resume(): port_ has its new value.
    if (hold_.load(std::memory_order_acquire) == Hold::held) [[unlikely]] {
        return receive_nothing();
    }
    count_ = unmap_guard_.run(
        [this] { return rte_eth_rx_burst(port_, queue_, buffers_.data(), kBurstPackets); });
    if (count_ == 0) {
        release_if_requested();
        return receive_nothing();
    }
    const Timestamp host = host_clock();
    clock_.begin_burst(host);
    bool any_full = false;
    for (std::size_t i = 0; i < count_; ++i) {
        const rte_mbuf& buffer = *buffers_[i];
        const auto* const frame = rte_pktmbuf_mtod(&buffer, const std::byte*);
        rte_prefetch0(frame);  // the parser reads it after the whole burst
        const Timestamp seen_at = time_of(buffer);
        packets_[i] = {.captured = {frame, buffer.data_len},
                       .wire_bytes = buffer.pkt_len,
                       .link_type = LinkType::ethernet,
                       .ingress_interface = ingress_interface_,
                       .seen_at = seen_at,
                       .clock = clock_.now()};
        any_full |= is_full(packets_[i]);
    }
    if (any_full) [[unlikely]] {
        judge_full_frames();
    }
    clock_.end_burst(uses_host_clock_ ? 0 : count_);
    return {.frames = {packets_.data(), count_},
            .now = uses_host_clock_ ? host : clock_.now(),
            .owner = this};
}

/// Judges the lengths of the burst's frames that fill their buffers. For all others the driver's
/// length holds, whatever their headers announce.
void DpdkQueue::judge_full_frames() noexcept {
    for (PacketView& packet : std::span(packets_).first(count_)) {
        if (!is_full(packet)) {
            continue;
        }
        const FrameExtent extent = extent_of(packet);
        if (extent.is_ip && !extent.is_announced) {
            length_unknown_.add();
        } else if (extent.is_ip && extent.end > packet.wire_bytes) {
            frames_cut_.add();
            packet.wire_bytes =
                static_cast<std::uint32_t>(std::min<std::size_t>(extent.end, UINT32_MAX));
        }
    }
}

FrameBurst DpdkQueue::receive_nothing() noexcept {
    const Timestamp host = host_clock();
    clock_.begin_burst(host);
    clock_.end_empty_burst();
    return {.frames = {}, .now = uses_host_clock_ ? host : clock_.now(), .owner = this};
}

/// Call it when the queue is empty and the last burst is over.
void DpdkQueue::release_if_requested() noexcept {
    Hold requested = Hold::requested;
    if (hold_.load(std::memory_order_relaxed) == Hold::requested) [[unlikely]] {
        // Release, for the acquire in pause(): this thread's use of the port comes before.
        hold_.compare_exchange_strong(requested, Hold::held, std::memory_order_release,
                                      std::memory_order_relaxed);
    }
}

bool DpdkQueue::pause() noexcept {
    Hold none = Hold::none;
    hold_.compare_exchange_strong(none, Hold::requested, std::memory_order_relaxed);
    // Acquire, for the release in release_if_requested(): the input thread's use of the port comes
    // before the main thread's.
    return hold_.load(std::memory_order_acquire) == Hold::held;
}

void DpdkQueue::resume() noexcept {
    port_ = eth_port_.id().value;
    hold_.store(Hold::none, std::memory_order_release);
}

void DpdkQueue::release(const FrameBurst& /*burst*/) noexcept {
    // Those that keep or forward a frame have a reference of their own.
    rte_pktmbuf_free_bulk(buffers_.data(), count_);
    count_ = 0;
}

FrameDetails DpdkQueue::details(const FrameBurst& /*burst*/, std::size_t index) const noexcept {
    return details_of(*buffers_[index]);
}

std::span<const std::byte> DpdkQueue::segment(const FrameBurst& /*burst*/, std::size_t index,
                                              std::size_t number) const noexcept {
    return segment_of(*buffers_[index], number);
}

KeptPacket DpdkQueue::keep(FrameBurst& burst, std::size_t index) noexcept {
    rte_mbuf* const packet = buffers_[index];
    if (!kept_->try_keep(packet->nb_segs)) {
        return {};
    }
    rte_pktmbuf_refcnt_update(packet, 1);
    burst.kept |= mask_of(index);
    return {*kept_, packet, packet->nb_segs, burst.frames[index]};
}

rte_mbuf* DpdkQueue::forward(FrameBurst& burst, std::size_t index) noexcept {
    rte_pktmbuf_refcnt_update(buffers_[index], 1);
    burst.forwarded |= mask_of(index);
    return buffers_[index];
}

Timestamp DpdkQueue::time_of(const rte_mbuf& packet) noexcept {
    if ((packet.ol_flags & timestamp_flag_) == 0) {
        return clock_.stamp();
    }
    return clock_.stamp(from_microseconds(
        *RTE_MBUF_DYNFIELD(&packet, timestamp_offset_, const rte_mbuf_timestamp_t*)));
}

}  // namespace tributary
