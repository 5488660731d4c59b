// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace tributary {

/// @param at  octets from the file's beginning
/// @return  false: the file ends before, or errno is why it cannot be read
template <class Value>
[[nodiscard]] bool read_at(int file, Value& value, std::uint64_t at) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    return ::pread(file, &value, sizeof value, static_cast<off_t>(at)) == sizeof value;
}

/// @param at  octets from the file's beginning
/// @return  false: the file ends before, or errno is why it cannot be read
[[nodiscard]] bool read_all_at(int file, std::span<std::byte> octets, std::uint64_t at) noexcept;

/// @param at  octets from the file's beginning
/// @return  false: see errno; some of it may be written
[[nodiscard]] bool write_at(int file, std::span<const std::byte> octets, std::uint64_t at) noexcept;

/// Whether this path leads to the file that is open here. If not, the file was removed, moved or
/// replaced, and no other process finds it.
[[nodiscard]] bool is_file_at(const std::string& path, int file) noexcept;

}  // namespace tributary
