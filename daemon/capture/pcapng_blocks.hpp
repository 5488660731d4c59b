// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/packet.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// What a pcapng file says of a packet beside its octets and times.
struct PcapngPacketNotes {
    std::uint32_t queue{};                    ///< that received it (epb_queue)
    std::optional<std::uint32_t> rss_hash{};  ///< Toeplitz hash of its flow (epb_hash)
};

/// Makes the blocks of a pcapng section in this machine's byte order, times in nanoseconds.
///
/// @thread  one at a time
/// @errors  std::bad_alloc
/// @source  draft-ietf-opsawg-pcapng §4.1-4.3, §4.6
class PcapngBlocks {
public:
    /// Longest text of a comment that is written whole; the rest of a longer one is left out.
    static constexpr std::size_t kLongestText = 65'535;

    /// Begins the section. Once, first.
    void add_section(std::string_view application, std::string_view comment);
    /// Describes an interface.
    ///
    /// @return  its number in the section
    std::uint32_t add_interface(LinkType link_type, std::string_view name);
    /// @param interface  from add_interface()
    /// @param packet     `wire_bytes` are its length; times before 1970 become 1970
    void add_packet(std::uint32_t interface, const PacketView& packet,
                    const PcapngPacketNotes& notes);
    /// Statistics of an interface, for the end of the section.
    ///
    /// @param received  packets (isb_ifrecv)
    /// @param lost      packets (isb_osdrop)
    void add_statistics(std::uint32_t interface, Timestamp at, std::uint64_t received,
                        std::uint64_t lost, std::string_view comment);

    /// What was added since the last clear().
    [[nodiscard]] std::span<const std::byte> octets() const noexcept { return octets_; }
    void clear() noexcept { octets_.clear(); }

private:
    class Block;

    std::vector<std::byte> octets_;
    std::uint32_t interfaces_ = 0;
};

}  // namespace tributary
