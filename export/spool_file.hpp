// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace tributary {

/// The name of a spool's file: its number, so that names sort as numbers do.
[[nodiscard]] std::string spool_file_name(std::uint64_t number);
/// The number in such a name; nothing for other files.
[[nodiscard]] std::optional<std::uint64_t> spool_file_number(const std::string& name);

/// @param at  octets from the file's begin
/// @return  false: the file ends before, or errno tells why it cannot be read
template <class Value>
[[nodiscard]] bool read_at(int file, Value& value, std::uint64_t at) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    return ::pread(file, &value, sizeof value, static_cast<off_t>(at)) == sizeof value;
}

/// @param at  octets from the file's begin
/// @return  false: errno tells why; some of it may be written
[[nodiscard]] bool write_at(int file, std::span<const std::byte> octets, std::uint64_t at) noexcept;

/// Whether somebody has removed the file that is open here: nobody will find it after this process.
[[nodiscard]] bool is_removed(int file) noexcept;

}  // namespace tributary
