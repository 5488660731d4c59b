// SPDX-License-Identifier: Apache-2.0
#include "perf/support/rte_table.hpp"

#include <rte_hash.h>
#include <rte_hash_crc.h>

#include <array>
#include <bit>
#include <new>
#include <string>

namespace tributary::perf {

class RteTable::Table {
public:
    explicit Table(rte_hash* hash) noexcept : hash_(hash) {}
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    ~Table() { rte_hash_free(hash_); }
    [[nodiscard]] rte_hash* get() const noexcept { return hash_; }

private:
    rte_hash* hash_;
};

std::uint64_t RteTable::bytes_needed(std::uint32_t entries, std::size_t key_bytes) {
    // Buckets of eight in 64 bytes, a power of two of them; a slot per key with a pointer, aligned
    // to 16; a ring of free slots.
    const std::uint64_t slots = std::bit_ceil(std::uint64_t{entries} + 1);
    return slots * 8 + std::uint64_t{entries} * (key_bytes + 8 + 15) + slots * 4 + (16U << 20U);
}

RteTable::RteTable(std::uint32_t entries, std::size_t key_bytes) {
    static int tables = 0;
    ++tables;
    const std::string name = "table" + std::to_string(tables);  // unique names
    rte_hash_parameters parameters{};
    parameters.name = name.c_str();
    parameters.entries = entries;
    parameters.key_len = static_cast<std::uint32_t>(key_bytes);
    parameters.hash_func = rte_hash_crc;
    parameters.hash_func_init_val = 0x9E37'79B9;
    parameters.socket_id = 0;
    rte_hash* const hash = rte_hash_create(&parameters);
    if (hash == nullptr) {
        throw std::bad_alloc();
    }
    table_ = std::make_unique<Table>(hash);
}

RteTable::~RteTable() = default;

bool RteTable::insert(const void* key, std::uint32_t number) noexcept {
    // The table keeps a pointer with each key: here the number itself.
    void* const data = std::bit_cast<void*>(std::uintptr_t{number});
    return rte_hash_add_key_data(table_->get(), key, data) == 0;
}

std::uint64_t RteTable::find(std::span<const void* const> keys,
                             std::span<std::uint32_t> numbers) const noexcept {
    std::array<void*, kMostKeys> data{};
    std::uint64_t found = 0;
    rte_hash_lookup_bulk_data(table_->get(), const_cast<const void**>(keys.data()),
                              static_cast<std::uint32_t>(keys.size()), &found, data.data());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        numbers[i] = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data[i]));
    }
    return found;
}

void RteTable::clear() noexcept { rte_hash_reset(table_->get()); }

}  // namespace tributary::perf
