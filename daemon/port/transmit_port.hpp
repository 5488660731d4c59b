// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/frame_sink.hpp"
#include "daemon/base/options.hpp"
#include "daemon/machine/device.hpp"
#include "daemon/port/memif_unmap_guard.hpp"
#include "daemon/port/packet_pool.hpp"
#include "parsers/units.hpp"

struct rte_mbuf;
struct rte_eth_dev_info;

namespace tributary {

using MacAddress = std::array<std::byte, 6>;

/// A port of a NIC or virtual device for sending frames: configured with the object, stopped and
/// closed with it. It receives nothing.
class TransmitPort {
public:
    /// @errors  StartupError(78): more queues than the driver has, or a larger mtu; (69): the
    /// driver
    ///          refuses the set-up
    /// @thread  main, like all of this class
    TransmitPort(EthPortId id, const OutputOptions& output, const PacketPool& pool);
    ~TransmitPort();
    TransmitPort(const TransmitPort&) = delete;
    TransmitPort& operator=(const TransmitPort&) = delete;

    /// @errors  StartupError(69, 77): the driver refuses
    void start();
    /// Whether the link is up, as far as the driver reports it.
    [[nodiscard]] bool is_up() const;

    /// Waits until the driver reports no unsent descriptor (memif does not report any), one second
    /// at most. A stopped driver may drop unsent frames, and the other end of a memif its unread
    /// ones.
    /// @thread  main, after the last send()
    void linger() const noexcept;

    [[nodiscard]] EthPortId id() const noexcept { return id_; }
    [[nodiscard]] const std::string& driver() const noexcept { return driver_; }
    [[nodiscard]] const PacketPool& pool() const noexcept { return pool_; }
    [[nodiscard]] MacAddress mac_address() const;
    /// Octets of the longest frame to send, without FCS.
    [[nodiscard]] std::size_t frame_octets() const noexcept;

private:
    void configure(const rte_eth_dev_info& info);
    void set_up_queues(const rte_eth_dev_info& info);
    [[nodiscard]] bool is_known_to_be_empty(std::uint16_t queue) const noexcept;

    EthPortId id_;
    OutputOptions output_;
    const PacketPool& pool_;
    std::string driver_;
    std::uint16_t descriptors_ = 0;  ///< of each queue
};

/// One transmit queue of a port.
class TransmitQueue final : public FrameSink {
public:
    /// @param port         must be started before the first send(), and outlive the last
    /// @param destination  of the frames
    /// @param waits        while it is true, a full ring, or a pool without a free buffer, makes
    ///                     the stream wait; otherwise the frame is lost after a few tries
    TransmitQueue(const TransmitPort& port, std::uint16_t queue, const MacAddress& destination,
                  const std::atomic<bool>& waits);
    /// Frees the buffer of the last begin().
    ~TransmitQueue() override;

    [[nodiscard]] std::span<std::byte> begin() noexcept override;
    [[nodiscard]] FrameOutcome send(std::size_t octets, Timestamp now) noexcept override;
    [[nodiscard]] const MacAddresses& addresses() const noexcept override { return addresses_; }

private:
    [[nodiscard]] bool try_send() noexcept;

    std::uint16_t port_;
    std::uint16_t queue_;
    std::uint16_t frame_octets_;
    bool was_full_ = false;
    MemifUnmapGuard unmap_guard_;
    const PacketPool& pool_;
    const std::atomic<bool>& waits_;
    MacAddresses addresses_{};
    rte_mbuf* buffer_ = nullptr;  ///< of the frame in progress
};

}  // namespace tributary
