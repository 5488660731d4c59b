// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/capture/capture_frame.hpp"

namespace tributary {

/// A pcapng interface description, for the packets of its interface.
struct PcapngInterface {
    bool described = false;  ///< false: its block is too short, or too many interfaces
    LinkType link_type{};
    std::uint32_t snap_bytes{};  ///< 0: unlimited
    // nanoseconds = ((ticks / divisor) * factor >> shift) + offset
    std::uint64_t divisor = 1;
    std::uint64_t factor = 1000;  ///< microseconds without if_tsresol
    std::uint8_t shift = 0;
    std::int64_t offset_seconds = 0;  ///< if_tsoffset

    /// The time of a packet with a time stamp of `ticks` units since 1970. Rounds down; a time
    /// outside Timestamp's range becomes its minimum or maximum.
    [[nodiscard]] Timestamp time_of(std::uint64_t ticks) const noexcept;
};

/// Walks the blocks of a pcapng file: any number of sections, each with its own byte order and
/// interfaces. Enhanced, simple and obsolete packet blocks are frames. Blocks need not be a
/// multiple of four bytes long, and the length after a block is ignored.
///
/// @thread  one at a time
/// @source  draft-ietf-opsawg-pcapng §4; the obsolete packet block: its appendix A
class PcapngReader {
public:
    /// More interfaces than a real section has; packets of others count as unknown_interface.
    static constexpr std::size_t kMaxInterfaces = 65'536;

    /// @param bytes  the whole file; borrowed
    /// @return       nullopt: the file does not start with a section header, which may be cut
    [[nodiscard]] static std::optional<PcapngReader> try_open(
        std::span<const std::byte> bytes) noexcept;

    /// Steps over one block.
    ///
    /// @param out  written when the item is a frame
    /// @cost       allocates at an interface description only
    [[nodiscard]] CaptureItem next(CaptureFrame& out) noexcept;

    /// Octets after the last whole block.
    [[nodiscard]] std::size_t unread() const noexcept { return rest_.size(); }
    /// The fault of the block after the last whole one, which further bytes do not repair. Empty:
    /// no fault, or the block is cut.
    [[nodiscard]] std::string_view damage() const noexcept { return damage_; }
    /// Walks on in other bytes, beginning with the unread ones.
    void go_on(std::span<const std::byte> bytes) noexcept { rest_ = bytes; }

private:
    struct PacketBlock;

    PcapngReader() = default;
    [[nodiscard]] bool start_section() noexcept;
    void add_interface(std::span<const std::byte> body) noexcept;
    [[nodiscard]] CaptureItem timed_packet(std::span<const std::byte> body, bool enhanced,
                                           CaptureFrame& out) const noexcept;
    [[nodiscard]] CaptureItem simple_packet(std::span<const std::byte> body,
                                            CaptureFrame& out) const noexcept;
    [[nodiscard]] CaptureItem packet(const PacketBlock& block, CaptureFrame& out) const noexcept;

    std::span<const std::byte> rest_;  ///< after the last whole block
    CaptureByteOrder order_;
    std::vector<PcapngInterface> interfaces_;  ///< of the section
    std::string_view damage_;                  ///< a string literal
    bool has_no_memory_ = false;               ///< for an interface and all later ones
};

}  // namespace tributary
