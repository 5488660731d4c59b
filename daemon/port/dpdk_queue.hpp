// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "daemon/port/burst_clock.hpp"
#include "daemon/port/eth_port.hpp"
#include "daemon/port/kept_mbufs.hpp"
#include "daemon/port/memif_unmap_guard.hpp"
#include "flowcache/input/frame_burst.hpp"
#include "parsers/packet.hpp"

struct rte_mbuf;

namespace tributary {

/// The use of a queue's clock.
enum class ClockOf : std::uint8_t { packets, records };

/// One receive queue of a port, as a PacketSource.
///
/// Packets carry the host's clock, read once per burst; those of net_pcap carry the capture's own
/// times (microseconds). Other drivers' timestamps are ticks of a NIC clock without a relation to
/// UTC, and are not used. `wire_bytes` is the driver's length; net_pcap and net_af_packet have the
/// captured length only. For a frame that they may have cut (octets_of_cut_frame()) it is the
/// length in its own header, if that is more. VLAN tags are in the bytes: EthPort turns stripping
/// off. The RSS hash is not used, for the reason in FlowHasher. A frame that a stage keeps stays in
/// its mbuf.
///
/// @thread  one input thread
class DpdkQueue final : public FrameOwner {
public:
    /// @param port  must be started before the first receive(), and outlive the last
    /// @errors      StartupError(71): no room for the timestamp in packet buffers
    /// @param clock_of  the source of FrameBurst::now: packets, or the plain host's clock, for
    ///                  frames with records that carry their times
    DpdkQueue(const EthPort& port, std::uint16_t queue, InterfaceIndex ingress_interface,
              ClockOf clock_of = ClockOf::packets);

    /// Takes up to kBurstPackets packets; release() must come before the next call.
    [[nodiscard]] FrameBurst receive() noexcept;
    /// Gives the last burst's buffers back. Those that are kept or forwarded stay with their
    /// holders.
    void release(const FrameBurst& burst) noexcept;

    [[nodiscard]] FrameDetails details(const FrameBurst& burst,
                                       std::size_t index) const noexcept override;
    [[nodiscard]] std::span<const std::byte> segment(const FrameBurst& burst, std::size_t index,
                                                     std::size_t number) const noexcept override;
    [[nodiscard]] KeptPacket keep(FrameBurst& burst, std::size_t index) noexcept override;
    /// Marks a frame of the last burst as forwarded. No port may send it with MBUF_FAST_FREE, which
    /// ignores references: until release() the queue has one too, so that other stages can look at
    /// the frame.
    ///
    /// @return  its first mbuf, with a reference for the caller to transmit or free. If it is kept
    ///          too, its octets must not be changed
    /// @cost    an atomic subtraction in release()
    [[nodiscard]] rte_mbuf* forward(FrameBurst& burst, std::size_t index) noexcept;
    /// @thread  any, its counts
    [[nodiscard]] const KeptBuffers& kept() const noexcept { return *kept_; }

    /// Requests the input thread to release the port once it is empty: from then on receive()
    /// returns nothing, until resume(). For a port that receives nothing any more.
    ///
    /// @return  true: the input thread has released it; false: call again
    /// @thread  main
    [[nodiscard]] bool pause() noexcept;
    /// Takes the port again, which may have another id now. Only after pause() was true.
    /// @thread main
    void resume() noexcept;

    /// Packets with a replaced time, or with the time of a host's clock that was set back.
    /// @thread  any
    [[nodiscard]] const Counter& bad_timestamps() const noexcept { return clock_.bad_timestamps(); }
    /// Frames longer than the buffer: their headers announce more octets than received.
    /// @thread  any
    [[nodiscard]] const Counter& frames_cut() const noexcept { return frames_cut_; }
    /// Frames that fill the buffer and announce no length: they may have been cut.
    /// @thread  any
    [[nodiscard]] const Counter& length_unknown() const noexcept { return length_unknown_; }
    /// @thread  any, its readings
    [[nodiscard]] const HostTime& host_time() const noexcept { return clock_.host_time(); }

private:
    /// Whether the input thread may use the port.
    enum class Hold : std::uint8_t {
        none,
        requested,  ///< by the main thread
        held,       ///< released by the input thread
    };

    [[nodiscard]] FrameBurst receive_nothing() noexcept;
    void release_if_requested() noexcept;
    [[nodiscard]] bool is_full(const PacketView& packet) const noexcept {
        return packet.captured.size() >= octets_of_cut_frame_;
    }
    void judge_full_frames() noexcept;
    [[nodiscard]] Timestamp time_of(const rte_mbuf& packet) noexcept;

    const EthPort& eth_port_;
    std::uint16_t port_;  ///< changes only while held
    std::uint16_t queue_;
    std::uint16_t count_ = 0;
    InterfaceIndex ingress_interface_;
    std::uint32_t octets_of_cut_frame_;
    int timestamp_offset_ = -1;
    std::uint64_t timestamp_flag_ = 0;  // 0: packets carry no usable time
    bool uses_host_clock_;
    MemifUnmapGuard unmap_guard_;
    BurstClock clock_;
    Counter frames_cut_;
    Counter length_unknown_;
    std::atomic<Hold> hold_{Hold::none};
    SourcesHold<KeptMbufs> kept_;
    std::array<rte_mbuf*, kBurstPackets> buffers_{};
    std::array<PacketView, kBurstPackets> packets_{};
};
static_assert(PacketSource<DpdkQueue>);

}  // namespace tributary
