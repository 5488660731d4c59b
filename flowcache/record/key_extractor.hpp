// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// What identifies a flow beyond the fields of FlowKey, as octets of its packets: the interface of
/// keys that are not compiled in. A record has the octets at the front of the field group that
/// KeyDescriptor::extension_group names.
///
/// Octets may belong to one end of a packet, such as a MAC address. Two directions of a biflow have
/// the same octets but for these, which change places.
///
/// @thread  any: it does not change
class KeyExtractor {
public:
    static constexpr std::size_t kMostOctets = 128;

    KeyExtractor(const KeyExtractor&) = delete;
    KeyExtractor& operator=(const KeyExtractor&) = delete;
    virtual ~KeyExtractor() = default;

    /// Octets of each key: a multiple of 8, from 8 to kMostOctets.
    [[nodiscard]] virtual std::size_t octets() const noexcept = 0;
    /// How many of them, from the front, are not padding.
    [[nodiscard]] virtual std::size_t used_octets() const noexcept { return octets(); }
    /// Writes all octets of a packet's key. Padding is 0.
    ///
    /// @param to  aligned to 8
    virtual void extract(const PacketView& packet, const PacketFields& fields,
                         std::byte* to) const noexcept = 0;
    /// Whether octets belong to one end.
    [[nodiscard]] virtual bool has_sides() const noexcept = 0;
    /// Makes octets those of the other direction.
    ///
    /// @param octets  of a key
    virtual void swap_sides(std::byte* octets) const noexcept = 0;

protected:
    KeyExtractor() = default;
};

}  // namespace tributary
