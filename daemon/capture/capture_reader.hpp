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

/// Why bytes are not a capture that we read.
enum class CaptureError : std::uint8_t {
    none,
    too_short,       ///< for a file header; also an empty file
    compressed,      ///< by another program than those whose files are unpacked, or twice
    unknown_format,  ///< neither pcap nor pcapng
};

/// The error in words, for instance "not a pcap or pcapng file".
[[nodiscard]] std::string_view describe(CaptureError error) noexcept;

/// Walks the frames of a pcap or pcapng file in memory. The bytes may hold anything. Its own,
/// because libpcap refuses files whose interfaces differ in link type, and costs more per frame
/// than metering it.
///
/// @thread  one at a time
class CaptureReader {
public:
    /// A reader of nothing: at its end.
    CaptureReader() = default;
    /// @param bytes  the whole file, or its beginning if go_on() brings the rest; borrowed as long
    ///               as the reader or a frame of it is used
    explicit CaptureReader(std::span<const std::byte> bytes) noexcept;

    /// @return  `none` if the bytes start as a capture does; otherwise the reader is at its end
    [[nodiscard]] CaptureError error() const noexcept { return error_; }

    /// Steps over one record or block. A damaged file ends at its damage, as `cut`.
    ///
    /// @param out  written when the item is a frame
    /// @cost       no allocation, but at a pcapng interface description
    [[nodiscard]] CaptureItem next(CaptureFrame& out) noexcept {
        if (pcap_) {
            return pcap_->next(out);
        }
        if (pcapng_) {
            return pcapng_->next(out);
        }
        return CaptureItem::end;
    }

    /// Octets behind the last whole item.
    [[nodiscard]] std::size_t unread() const noexcept {
        return pcap_ ? pcap_->unread() : pcapng_ ? pcapng_->unread() : 0;
    }
    /// As PcapngReader::damage(). Every record of a pcap file is good, if it is not cut off.
    [[nodiscard]] std::string_view damage() const noexcept {
        return pcapng_ ? pcapng_->damage() : std::string_view();
    }
    /// Walks on where the bytes ended so far.
    ///
    /// @param bytes  begin with those that are unread()
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
