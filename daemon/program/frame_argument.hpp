// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf_core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace tributary {

/// The argument of a native program. DPDK's programs read a frame through an rte_mbuf, and by
/// nothing else of DPDK: this one is in no pool, and stands for any octets, also those of a file.
///
/// Its packet length is the captured length. DPDK's function for what lies outside of the first
/// segment compares with that before it looks for a second segment, and there is none. The length
/// on the wire, which programs also read, has a dynamic field.
class FrameArgument {
public:
    /// Longer frames are not for native programs: an rte_mbuf's segment is no longer.
    static constexpr std::size_t kMostOctets = UINT16_MAX;
    /// Where a program reads the length on the wire: 32 bits, in the host's byte order.
    static constexpr std::size_t kWireOctetsOffset = offsetof(rte_mbuf, dynfield1);

    FrameArgument() noexcept { ::new (storage_.data()) rte_mbuf{}; }
    FrameArgument(const FrameArgument&) = delete;
    FrameArgument& operator=(const FrameArgument&) = delete;
    ~FrameArgument() = default;

    /// @param captured    at most kMostOctets; borrowed until the next call
    /// @param wire_octets  length on the wire
    /// @return            for a native program
    [[nodiscard]] void* of(std::span<const std::byte> captured,
                           std::uint32_t wire_octets) noexcept {
        auto* const mbuf = std::launder(reinterpret_cast<rte_mbuf*>(storage_.data()));
        mbuf->buf_addr = const_cast<std::byte*>(captured.data());  // programs cannot write to it
        mbuf->data_len = static_cast<std::uint16_t>(captured.size());
        mbuf->pkt_len = static_cast<std::uint32_t>(captured.size());
        mbuf->dynfield1[0] = wire_octets;
        return mbuf;
    }

private:
    /// An rte_mbuf is no member of a class in standard C++, because of its arrays of size zero.
    alignas(rte_mbuf) std::array<std::byte, sizeof(rte_mbuf)> storage_;
};

}  // namespace tributary
