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

/// What a pcapng interface description says about the packets of its interface.
struct PcapngInterface {
    bool described = false;  ///< false: its block was too short to tell, or there are too many
    LinkType link_type{};
    std::uint32_t snap_bytes{};  ///< 0: unlimited
    // nanoseconds = ((ticks / divisor) * factor >> shift) + offset
    std::uint64_t divisor = 1;
    std::uint64_t factor = 1000;  ///< microseconds, unless if_tsresol says otherwise
    std::uint8_t shift = 0;
    std::int64_t offset_seconds = 0;  ///< if_tsoffset

    /// The time of a packet whose time stamp is `ticks` units since 1970. Rounds down; a time that
    /// Timestamp can't hold becomes its minimum or maximum.
    [[nodiscard]] Timestamp time_of(std::uint64_t ticks) const noexcept;
};

/// Walks the blocks of a pcapng file: any number of sections, each in a byte order of its own, with
/// interfaces of their own. Enhanced, simple and the obsolete packet blocks are frames. Blocks need
/// not be a multiple of four bytes long, and the length behind a block is not looked at.
///
/// @thread  one at a time
/// @source  draft-ietf-opsawg-pcapng §4; the obsolete packet block: its appendix A
class PcapngReader {
public:
    /// More interfaces than a section has in earnest; packets of others count as unknown_interface.
    static constexpr std::size_t kMaxInterfaces = 65'536;

    /// @param bytes  the whole file; borrowed
    /// @return       nothing unless the file starts with a section header, which may be cut
    [[nodiscard]] static std::optional<PcapngReader> try_open(
        std::span<const std::byte> bytes) noexcept;

    /// Steps over one block.
    ///
    /// @param out  written when the item is a frame
    /// @cost       allocates at an interface description only
    [[nodiscard]] CaptureItem next(CaptureFrame& out) noexcept;

    /// Octets behind the last whole block.
    [[nodiscard]] std::size_t unread() const noexcept { return rest_.size(); }
    /// What is wrong with the block behind the last whole one. Further bytes would not mend it.
    /// Empty: nothing is wrong, or the block is cut off.
    [[nodiscard]] std::string_view damage() const noexcept { return damage_; }
    /// Walks on in other bytes, which begin with the unread ones.
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

    std::span<const std::byte> rest_;  ///< behind the last whole block
    CaptureByteOrder order_;
    std::vector<PcapngInterface> interfaces_;  ///< of the section
    std::string_view damage_;                  ///< of a literal
    bool has_no_memory_ = false;               ///< for one of its interfaces and those behind it
};

}  // namespace tributary
