// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tributary::perf {

/// DPDK's own hash table, rte_hash with rte_hash_crc, for a flow cache: keys to numbers, looked up
/// a burst at a time. It needs an Eal.
/// @thread  one
class RteTable {
public:
    static constexpr std::size_t kMostKeys = 64;  ///< of one look-up

    /// Memory of a table from DPDK, in bytes, rounded up generously.
    [[nodiscard]] static std::uint64_t bytes_needed(std::uint32_t entries, std::size_t key_bytes);

    /// @errors  std::bad_alloc
    RteTable(std::uint32_t entries, std::size_t key_bytes);
    RteTable(const RteTable&) = delete;
    RteTable& operator=(const RteTable&) = delete;
    ~RteTable();

    /// @return  false: no room
    bool insert(const void* key, std::uint32_t number) noexcept;
    /// @param keys     at most kMostKeys
    /// @param numbers  as many; written for found keys
    /// @return         one bit per key, the first lowest: found
    [[nodiscard]] std::uint64_t find(std::span<const void* const> keys,
                                     std::span<std::uint32_t> numbers) const noexcept;
    void clear() noexcept;

private:
    class Table;
    std::unique_ptr<Table> table_;
};

}  // namespace tributary::perf
