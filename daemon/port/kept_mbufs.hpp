// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "flowcache/input/kept_packet.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace tributary {

/// The pools that a port's packets come from; the second one is nullptr where the NIC does not
/// split packets.
using PortPools = std::array<std::shared_ptr<rte_mempool>, 2>;

/// Packets kept as the mbufs that the driver has filled. The pools live as long as a packet is
/// held; all must be given back before EAL ends.
class KeptMbufs final : public KeptBuffers {
public:
    KeptMbufs(std::uint32_t most, PortPools pools) noexcept;

    [[nodiscard]] FrameDetails details(const void* buffer) const noexcept override;
    [[nodiscard]] std::span<const std::byte> segment(const void* buffer,
                                                     std::size_t number) const noexcept override;

private:
    ~KeptMbufs() override;
    void put_back(void* buffer) noexcept override;

    PortPools pools_;
};

/// What the driver says of a packet.
/// @param packet  its first mbuf
[[nodiscard]] FrameDetails details_of(const rte_mbuf& packet) noexcept;

/// @param number  of the segment, from 0, below the packet's nb_segs
[[nodiscard]] std::span<const std::byte> segment_of(const rte_mbuf& packet,
                                                    std::size_t number) noexcept;

}  // namespace tributary
