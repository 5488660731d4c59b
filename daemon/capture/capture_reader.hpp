// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/capture/capture_frame.hpp"
#include "daemon/capture/pcap_reader.hpp"
#include "daemon/capture/pcapng_reader.hpp"

namespace tributary {

/// Why bytes are not a readable capture.
enum class CaptureError : std::uint8_t {
    none,
    too_short,       ///< for a file header; also an empty file
    compressed,      ///< twice, or in a format without a decompressor here
    unknown_format,  ///< neither pcap nor pcapng
};

/// The error in words, for instance "not a pcap or pcapng file".
[[nodiscard]] std::string_view describe(CaptureError error) noexcept;

/// Walks the frames of a pcap or pcapng file in memory. The bytes may hold anything. It replaces
/// libpcap, which refuses files with interfaces of different link types, and takes longer per frame
/// than metering.
///
/// @thread  one at a time
class CaptureReader {
public:
    /// An empty reader, at its end.
    CaptureReader() = default;
    /// @param bytes  the whole file, or its beginning if go_on() follows; borrowed as long as the
    ///               reader or a frame of it is used
    explicit CaptureReader(std::span<const std::byte> bytes) noexcept;

    /// @return  `none` if the bytes start like a capture; otherwise the reader is at its end
    [[nodiscard]] CaptureError error() const noexcept { return error_; }

    /// Steps over one record or block. A damaged file ends at its damage, as `cut`.
    ///
    /// @param out  written when the item is a frame
    /// @cost       no allocation, except at a pcapng interface description
    [[nodiscard]] CaptureItem next(CaptureFrame& out) noexcept {
        if (pcap_) {
            return pcap_->next(out);
        }
        if (pcapng_) {
            return pcapng_->next(out);
        }
        return CaptureItem::end;
    }

    /// Octets after the last whole item.
    [[nodiscard]] std::size_t unread() const noexcept {
        return pcap_ ? pcap_->unread() : pcapng_ ? pcapng_->unread() : 0;
    }
    /// As PcapngReader::damage(). A record of a pcap file is never damaged, only cut.
    [[nodiscard]] std::string_view damage() const noexcept {
        return pcapng_ ? pcapng_->damage() : std::string_view();
    }
    /// Walks on after the end of the bytes so far.
    ///
    /// @param bytes  begin with the unread() ones
    void go_on(std::span<const std::byte> bytes) noexcept {
        if (pcap_) {
            pcap_->go_on(bytes);
        } else if (pcapng_) {
            pcapng_->go_on(bytes);
        }
    }

private:
    std::optional<PcapReader> pcap_;  ///< at most one of the two
    std::optional<PcapngReader> pcapng_;
    CaptureError error_ = CaptureError::none;
};

}  // namespace tributary
