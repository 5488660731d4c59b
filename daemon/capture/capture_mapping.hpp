// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tributary {

/// The bytes of a regular file, mapped.
///
/// A mapped file that another program shrinks raises SIGBUS when its lost pages are read. That is
/// accepted: writers of captures append or begin a new file, and the remedy, a copy of every byte,
/// would cost each honest file as much as metering it.
class CaptureMapping {
public:
    /// @param octets  the file's, at least 1
    /// @return        nothing where the file can't be mapped
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

    std::span<const std::byte> bytes_;  ///< empty: moved away
};

}  // namespace tributary
