// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/packet_pool.hpp"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sysexits.h>

#include <algorithm>
#include <string>

#include "daemon/base/startup_error.hpp"
#include "parsers/packet.hpp"

namespace tributary {
namespace {

constexpr std::uint32_t kThreadCache = 256;
// A thread's cache holds up to one and a half times its size before it gives buffers back
// (rte_mempool.h).
constexpr std::uint32_t kBeyondRing = 2 * kBurstPackets + kThreadCache * 3 / 2;

std::uint32_t kept_buffers_of(const PortOptions& port) { return port.queues * port.kept_buffers; }

/// Buffers beside those of kept packets.
std::uint32_t buffers_for(const PortOptions& port) {
    return port.mempool_size != 0 ? port.mempool_size
                                  : port.queues * (port.descriptors + kBeyondRing);
}

/// Buffers in each thread's cache. The caches must not hold all of a small pool, also while stages
/// hold all that they may keep.
///
/// @param buffers  beside those of kept packets
std::uint32_t cached_of(std::uint32_t buffers, std::uint32_t threads) {
    constexpr std::uint32_t kPartOfPool = 4;
    return std::min(kThreadCache, buffers / (kPartOfPool * threads));
}

std::string node_text(const NumaNode& node) {
    return node ? "NUMA node " + std::to_string(*node) : std::string("any NUMA node");
}

}  // namespace

std::uint64_t PoolSize::memory() const noexcept {
    constexpr std::uint64_t kObjectHeader =
        2ULL * RTE_CACHE_LINE_SIZE;  // with the padding between objects
    return std::uint64_t{buffers} *
           (octets + RTE_PKTMBUF_HEADROOM + sizeof(rte_mbuf) + kObjectHeader);
}

std::vector<PoolSize> plan_pools(std::span<const PortOptions> ports,
                                 std::span<const NumaNode> nodes) {
    std::vector<PoolSize> pools;
    std::vector<std::uint32_t> threads;
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        auto pool = std::find_if(pools.begin(), pools.end(),
                                 [&](const PoolSize& p) { return p.node == nodes[i]; });
        if (pool == pools.end()) {
            pool = pools.insert(pools.end(), PoolSize{.node = nodes[i]});
            threads.push_back(0);
            kept.push_back(0);
        }
        const auto place = static_cast<std::size_t>(pool - pools.begin());
        pool->buffers += buffers_for(ports[i]);
        pool->octets = std::max(pool->octets, buffer_octets(ports[i]));
        threads[place] += ports[i].queues;
        kept[place] += kept_buffers_of(ports[i]);
    }
    for (std::size_t i = 0; i < pools.size(); ++i) {
        pools[i].cached = cached_of(pools[i].buffers, threads[i]);
        pools[i].buffers += kept[i];
        pools[i].is_shared = kept[i] > 0;
    }
    return pools;
}

std::vector<PoolSize> plan_pools(std::span<const InputOptions> inputs,
                                 std::span<const NumaNode> nodes) {
    std::vector<PortOptions> ports(inputs.size());
    std::ranges::transform(inputs, ports.begin(),
                           [](const InputOptions& input) { return port_of(input); });
    return plan_pools(std::span<const PortOptions>(ports), nodes);
}

const PacketPool& pool_of_node(std::span<const std::unique_ptr<PacketPool>> pools,
                               const NumaNode& node) {
    return **std::ranges::find(pools, node, [](const auto& pool) { return pool->size().node; });
}

PoolSize plan_head_pool(const InputOptions& input, const NumaNode& node) {
    const PortOptions port = port_of(input);
    const std::uint32_t buffers = buffers_for(port);
    return {.node = node,
            .buffers = buffers + kept_buffers_of(port),
            .cached = cached_of(buffers, port.queues),
            .octets = input.trim_length,
            .is_shared = kept_buffers_of(port) > 0};
}

PacketPool::PacketPool(const PoolSize& size, const std::string& name) : size_(size) {
    const std::string full_name = name + "_" + (size.node ? std::to_string(*size.node) : "any");
    // The kernel may stop a helper thread while it puts a buffer into the pool's ring. With DPDK's
    // default ring (ring_mp_mc) an input thread that puts buffers there then spins until the helper
    // thread goes on; with ring_mt_rts it does not.
    const char* const ring = size.is_shared ? "ring_mt_rts" : nullptr;
    pool_ = {rte_pktmbuf_pool_create_by_ops(
                 full_name.c_str(), size.buffers, size.cached, 0,
                 static_cast<std::uint16_t>(size.octets + RTE_PKTMBUF_HEADROOM),
                 size.node ? static_cast<int>(*size.node) : SOCKET_ID_ANY, ring),
             rte_mempool_free};
    if (pool_ == nullptr) {
        throw StartupError(EX_OSERR, "no memory for " + std::to_string(size.buffers) +
                                         " packet buffers (" +
                                         std::to_string(size.memory() >> 20U) + " MiB) on " +
                                         node_text(size.node) + ": " + rte_strerror(rte_errno) +
                                         "; reserve huge pages there, or lower rx-descriptors, "
                                         "mempool-size or mtu");
    }
}

std::uint32_t PacketPool::in_use() const noexcept { return rte_mempool_in_use_count(pool_.get()); }

}  // namespace tributary
