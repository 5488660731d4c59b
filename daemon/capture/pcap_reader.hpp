// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "daemon/capture/capture_frame.hpp"

namespace tributary {

/// Walks the records of a pcap file: either byte order, microseconds, nanoseconds, or the
/// "modified" format, whose record headers are 24 bytes long.
///
/// @thread  one at a time
/// @source  draft-ietf-opsawg-pcap §4-5; magic numbers: libpcap's sf-pcap.c
class PcapReader {
public:
    static constexpr std::size_t kFileHeader = 24;

    /// @param bytes  the whole file; borrowed
    /// @return       nullopt: the file does not start with a whole pcap header
    [[nodiscard]] static std::optional<PcapReader> try_open(
        std::span<const std::byte> bytes) noexcept;

    /// Steps over one record.
    ///
    /// @param out  written when the item is a frame
    /// @cost       no allocation, no loop
    [[nodiscard]] CaptureItem next(CaptureFrame& out) noexcept;

    /// Octets after the last whole record.
    [[nodiscard]] std::size_t unread() const noexcept { return rest_.size(); }
    /// Walks on in other bytes, beginning with the unread ones.
    void go_on(std::span<const std::byte> bytes) noexcept { rest_ = bytes; }

private:
    PcapReader() = default;

    std::span<const std::byte> rest_;  ///< after the last whole record
    CaptureByteOrder order_;
    LinkType link_type_{};
    std::int64_t fraction_ns_{};   ///< nanoseconds in one unit of a time's second word
    std::size_t record_header_{};  ///< bytes
};

}  // namespace tributary
