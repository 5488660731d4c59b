// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <vector>

namespace tributary::test {

/// Whether a pool has each of its buffers once, as it was made: none is missing, none was given
/// back twice. Counts cannot tell the latter.
///
/// @param pool  that no thread uses any more
inline bool has_each_buffer_once(rte_mempool& pool) {
    for (unsigned lcore = 0; lcore < RTE_MAX_LCORE;
         ++lcore) {  // the caches of threads that have ended, too
        rte_mempool_cache_flush(rte_mempool_default_cache(&pool, lcore), &pool);
    }
    std::vector<void*> buffers;
    for (void* buffer = nullptr; rte_mempool_generic_get(&pool, &buffer, 1, nullptr) == 0;) {
        buffers.push_back(buffer);
    }
    const bool are_free = std::ranges::all_of(buffers, [](const void* buffer) {
        const auto& packet = *static_cast<const rte_mbuf*>(buffer);
        return rte_mbuf_refcnt_read(&packet) == 1 && packet.next == nullptr && packet.nb_segs == 1;
    });
    for (void* buffer : buffers) {
        rte_mempool_generic_put(&pool, &buffer, 1, nullptr);
    }
    std::ranges::sort(buffers);
    const bool are_different = std::ranges::adjacent_find(buffers) == buffers.end();
    return are_free && are_different && buffers.size() == pool.size;
}

}  // namespace tributary::test
