// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/kept_mbufs.hpp"

#include <rte_mbuf.h>

#include <utility>

namespace tributary {

KeptMbufs::KeptMbufs(std::uint32_t most, PortPools pools) noexcept
    : KeptBuffers(most), pools_(std::move(pools)) {}

KeptMbufs::~KeptMbufs() = default;

FrameDetails KeptMbufs::details(const void* buffer) const noexcept {
    return details_of(*static_cast<const rte_mbuf*>(buffer));
}

std::span<const std::byte> KeptMbufs::segment(const void* buffer,
                                              std::size_t number) const noexcept {
    return segment_of(*static_cast<const rte_mbuf*>(buffer), number);
}

void KeptMbufs::put_back(void* buffer) noexcept {
    rte_pktmbuf_free(static_cast<rte_mbuf*>(buffer));
}

FrameDetails details_of(const rte_mbuf& packet) noexcept {
    FrameDetails details{.rss_hash = {}, .mark = {}, .segments = packet.nb_segs};
    if ((packet.ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0) {
        details.rss_hash = packet.hash.rss;
    }
    if ((packet.ol_flags & RTE_MBUF_F_RX_FDIR_ID) != 0) {
        details.mark = packet.hash.fdir.hi;
    }
    return details;
}

std::span<const std::byte> segment_of(const rte_mbuf& packet, std::size_t number) noexcept {
    const rte_mbuf* segment = &packet;
    for (; number > 0; --number) {
        segment = segment->next;
    }
    return {rte_pktmbuf_mtod(segment, const std::byte*), segment->data_len};
}

}  // namespace tributary
