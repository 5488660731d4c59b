// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/recorder/packet_ring.hpp"
#include "parsers/packet.hpp"

namespace tributary {

/// A packet of a ring, copied out of it.
struct RecordedPacket {
    KeptMetadata metadata{};
    std::span<const std::byte> octets{};  ///< valid until the reader's next read()

    [[nodiscard]] PacketView view() const noexcept {
        return {.captured = octets,
                .wire_bytes = metadata.wire_bytes,
                .link_type = metadata.link_type,
                .ingress_interface = metadata.ingress_interface,
                .seen_at = metadata.seen_at,
                .clock = metadata.seen_at};
    }
};

/// Follows one ring from a time on, in the order in which packets were kept. It copies as much as
/// there is of one block at a time, and so delays no other thread.
///
/// @thread  one at a time, any
class RingReader {
public:
    /// @param ring   outlives the reader
    /// @param since  blocks whose packets are all older are passed over
    /// @errors       std::bad_alloc
    RingReader(const PacketRing& ring, Timestamp since);

    /// From now on blocks that have no packet of these flows may be passed over. Their packets
    /// count as read.
    ///
    /// @param hashes  of KeptMetadata::flow_hash; empty: all packets are wanted
    void look_for(std::vector<std::uint32_t> hashes) { hashes_ = std::move(hashes); }
    /// Nothing is read behind this place, nor counts as overwritten.
    ///
    /// @param end  PacketRing::published(), just now
    /// @cost       looks at the packets of one block
    void stop_at(PacketRing::Position end) noexcept;

    /// Reads the next packets: some of one block, in their order.
    ///
    /// @return  empty: there is none yet; with has_ended() none will come. Valid until the next
    ///          read(), like the packets' octets
    /// @errors  std::bad_alloc
    [[nodiscard]] std::span<const RecordedPacket> read();
    /// Whether the place of stop_at() is reached.
    [[nodiscard]] bool has_ended() const noexcept;

    /// Packets that were overwritten before they were read, up to the place of stop_at().
    [[nodiscard]] std::uint64_t overwritten() const noexcept { return overwritten_; }
    /// Packets that were read.
    [[nodiscard]] std::uint64_t packets() const noexcept { return packets_; }

private:
    /// Where what can be read of the present block ends now; nothing: it is overwritten.
    [[nodiscard]] std::optional<std::size_t> readable_end() const noexcept;
    [[nodiscard]] bool is_complete() const noexcept;
    [[nodiscard]] bool pass_over() noexcept;
    void begin_at(std::uint64_t block) noexcept;
    void pass_overwritten() noexcept;
    [[nodiscard]] std::uint64_t number_at(PacketRing::Position place) const noexcept;
    [[nodiscard]] std::span<const RecordedPacket> take(std::size_t until);

    const PacketRing& ring_;
    PacketRing::Position end_ = std::numeric_limits<PacketRing::Position>::max();
    std::uint64_t end_number_ = std::numeric_limits<std::uint64_t>::max();  ///< of the packet there
    std::uint64_t block_ = 0;
    std::size_t offset_ = 0;  ///< of the next packet in the block
    std::uint64_t next_ = 0;  ///< its number
    std::uint64_t overwritten_ = 0;
    std::uint64_t packets_ = 0;
    std::vector<std::uint32_t> hashes_;
    std::vector<std::uint64_t> copy_;
    std::vector<RecordedPacket> read_;
};

}  // namespace tributary
