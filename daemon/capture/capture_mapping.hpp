// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tributary {

/// The bytes of a regular file, mapped.
///
/// A mapped file that another program shrinks raises SIGBUS when its lost pages are read. This is
/// accepted: writers of captures append or begin a new file, and a copy of every byte would cost as
/// much as metering it.
class CaptureMapping {
public:
    /// @param octets  of the file, at least 1
    /// @return        nullopt: the file cannot be mapped
    [[nodiscard]] static std::optional<CaptureMapping> try_map(int descriptor,
                                                               std::uint64_t octets) noexcept;
    CaptureMapping(CaptureMapping&& other) noexcept;
    CaptureMapping& operator=(CaptureMapping&&) = delete;
    CaptureMapping(const CaptureMapping&) = delete;
    CaptureMapping& operator=(const CaptureMapping&) = delete;
    ~CaptureMapping();

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    explicit CaptureMapping(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    std::span<const std::byte> bytes_;  ///< empty: moved from
};

}  // namespace tributary
