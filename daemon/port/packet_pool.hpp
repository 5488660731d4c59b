// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/machine/device.hpp"
#include "daemon/machine/topology.hpp"

struct rte_mempool;

namespace tributary {

/// The packet buffers that the inputs of one NUMA node share.
struct PoolSize {
    NumaNode node;
    std::uint32_t buffers{};
    std::uint32_t cached{};  ///< buffers in each thread's cache
    std::uint16_t octets{};  ///< packet bytes per buffer, without headroom
    /// Stages may keep packets, so that helper threads give buffers back.
    bool is_shared{};

    /// Memory of the pool, in octets; a little more than DPDK's own count.
    [[nodiscard]] std::uint64_t memory() const noexcept;
    friend bool operator==(const PoolSize&, const PoolSize&) = default;
};

/// One pool per NUMA node used: buffers for full rings, bursts in flight and the threads' caches,
/// or `mempool-size`; and for the packets that stages may keep.
///
/// @param nodes  of the ports' NICs, in the ports' order
/// @thread       any; pure
[[nodiscard]] std::vector<PoolSize> plan_pools(std::span<const PortOptions> ports,
                                               std::span<const NumaNode> nodes);
[[nodiscard]] std::vector<PoolSize> plan_pools(std::span<const InputOptions> inputs,
                                               std::span<const NumaNode> nodes);

/// Small buffers for the first octets of an input's packets, as many as for the packets themselves,
/// kept ones too.
///
/// @thread  any; pure
[[nodiscard]] PoolSize plan_head_pool(const InputOptions& input, const NumaNode& node);

/// A DPDK mempool of packet buffers. Its ports must be closed before it is destroyed. Its memory is
/// freed when all its shares are gone too.
class PacketPool {
public:
    /// @param name  unique among the pools of one NUMA node; at most 16 characters
    /// @errors      StartupError(71): not enough memory on that node
    explicit PacketPool(const PoolSize& size, const std::string& name = "packets");
    PacketPool(const PacketPool&) = delete;
    PacketPool& operator=(const PacketPool&) = delete;

    [[nodiscard]] const PoolSize& size() const noexcept { return size_; }
    /// Buffers that are taken, by rings of NICs too; those in threads' caches are not.
    /// @thread  any
    /// @cost    a look at each thread's cache
    [[nodiscard]] std::uint32_t in_use() const noexcept;
    [[nodiscard]] rte_mempool* get() const noexcept { return pool_.get(); }
    /// For packets that may be kept longer than the pool's owner lives.
    [[nodiscard]] const std::shared_ptr<rte_mempool>& share() const noexcept { return pool_; }

private:
    PoolSize size_;
    std::shared_ptr<rte_mempool> pool_;
};

/// The pool of a NUMA node.
///
/// @param pools  one of them is of this node, as plan_pools() has it
[[nodiscard]] const PacketPool& pool_of_node(std::span<const std::unique_ptr<PacketPool>> pools,
                                             const NumaNode& node);

}  // namespace tributary
