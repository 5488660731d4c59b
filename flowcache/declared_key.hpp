// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "flowcache/record/key_extractor.hpp"
#include "flowcache/record/key_masks.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// The extension of a key that an extractor takes, in packets and in entries. A packet of a biflow
/// has its octets in the direction of the canonical key (KeyedPacket::extension); an entry, and a
/// record, in that from the initiator.
class DeclaredKey {
public:
    /// @param layout  has the extension_group, if the key is so extended
    DeclaredKey(const RecordLayout& layout, const KeyDescriptor& key) noexcept
        : extractor_(key.extension == KeyExtension::declared ? key.extractor : nullptr),
          octets_(extractor_ != nullptr ? extractor_->octets() : 0),
          at_(extractor_ != nullptr ? layout.places[key.extension_group] : std::uint16_t{0}),
          back_at_(extractor_ != nullptr ? layout.reverse_places[key.extension_group]
                                         : std::uint16_t{0}),
          has_sides_(extractor_ != nullptr && layout.reverse_at != 0 && extractor_->has_sides()) {}

    [[nodiscard]] bool is_there() const noexcept { return extractor_ != nullptr; }
    [[nodiscard]] std::span<const std::byte> of(const KeyedPacket& packet) const noexcept {
        return {packet.extension, octets_};
    }
    [[nodiscard]] std::byte* in(GroupBytes groups) const noexcept {
        return &groups.get<std::byte>(at_);
    }

    /// Gives a packet its octets. Where both ends of its FlowKey are equal, the octets say which
    /// direction is the canonical one, and `is_swapped` follows.
    ///
    /// @param masks  of the table's key
    /// @param to     octets of this packet alone, aligned to 8; they outlive its burst
    void extract(KeyedPacket& packet, const KeyMasks& masks, std::byte* to) const noexcept {
        extractor_->extract(*packet.packet, *packet.fields, to);
        packet.extension = to;
        if (!has_sides_) {
            return;
        }
        if (packet.is_swapped) {
            extractor_->swap_sides(to);
        } else if (masks.has_equal_ends(*packet.fields) &&
                   masks.can_be_paired(packet.fields->protocol)) {
            const Octets other = swapped(to);
            packet.is_swapped = std::memcmp(other.data(), to, octets_) < 0;
            std::memcpy(to, packet.is_swapped ? other.data() : to, octets_);
        }
    }
    /// @param starts_swapped  of the entry
    /// @param of_entry        in(its groups)
    /// Never inlined, so that the path of other packets is short.
    [[nodiscard, gnu::noinline]] bool is_same(const KeyedPacket& packet, bool starts_swapped,
                                              const std::byte* of_entry) const noexcept {
        if (has_sides_ && starts_swapped) {
            return std::memcmp(swapped(packet.extension).data(), of_entry, octets_) == 0;
        }
        return std::memcmp(packet.extension, of_entry, octets_) == 0;
    }
    /// Writes a packet's octets into an entry.
    [[gnu::noinline]] void write(const KeyedPacket& packet, bool starts_swapped,
                                 std::byte* of_entry) const noexcept {
        std::memcpy(of_entry, packet.extension, octets_);
        if (has_sides_ && starts_swapped) {
            extractor_->swap_sides(of_entry);
        }
    }
    /// Gives a record of a biflow the octets of its other direction, in the group of that. An entry
    /// does not have them.
    [[gnu::noinline]] void complete(GroupBytes record) const noexcept {
        if (back_at_ != 0) {
            std::byte* const back = &record.get<std::byte>(back_at_);
            std::memcpy(back, in(record), octets_);
            extractor_->swap_sides(back);
        }
    }
    /// Whether the other direction of a packet has the same octets.
    [[nodiscard, gnu::noinline]] bool has_equal_sides(const KeyedPacket& packet) const noexcept {
        return !has_sides_ ||
               std::memcmp(swapped(packet.extension).data(), packet.extension, octets_) == 0;
    }

    using Octets = std::array<std::byte, KeyExtractor::kMostOctets>;
    /// A copy of an entry's octets, and the way back.
    [[nodiscard]] Octets copy(const std::byte* of_entry) const noexcept {
        Octets octets;
        std::memcpy(octets.data(), of_entry, octets_);
        return octets;
    }
    void restore(const Octets& octets, std::byte* of_entry) const noexcept {
        std::memcpy(of_entry, octets.data(), octets_);
    }

private:
    [[nodiscard]] Octets swapped(const std::byte* octets) const noexcept {
        Octets other = copy(octets);
        extractor_->swap_sides(other.data());
        return other;
    }

    const KeyExtractor* extractor_;
    std::size_t octets_;
    std::uint16_t at_;       ///< of the extension in a record
    std::uint16_t back_at_;  ///< of that of a biflow's other direction; 0: none
    bool has_sides_;         ///< and the table has biflows
};

}  // namespace tributary
