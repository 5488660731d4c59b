// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "flowcache/record/key_extractor.hpp"
#include "flowcache/record/key_masks.hpp"
#include "flowcache/record/load_word.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// The extension of a key that an extractor takes, in packets and in entries. A packet of a biflow
/// has its octets in the direction of the canonical key (KeyedPacket::extension); an entry, and a
/// record, in that from the initiator.
///
/// Of uniflows, few octets have room in the ShortKey, in place of members that are not in the key,
/// such as ports. There they are hashed and compared with it, and a packet touches no more memory
/// than one of a key without an extension. The record's FlowKey has 0 there, as without them.
class DeclaredKey {
public:
    /// @param layout  has the extension_group, if the key is so extended
    DeclaredKey(const RecordLayout& layout, const KeyDescriptor& key) noexcept
        : extractor_(key.extension == KeyExtension::declared ? key.extractor : nullptr),
          octets_(extractor_ != nullptr ? extractor_->octets() : 0),
          at_(extractor_ != nullptr ? layout.places[key.extension_group] : std::uint16_t{0}),
          back_at_(extractor_ != nullptr ? layout.reverse_places[key.extension_group]
                                         : std::uint16_t{0}),
          has_sides_(extractor_ != nullptr && layout.reverse_at != 0 && extractor_->has_sides()) {
        const std::size_t used = extractor_ != nullptr ? extractor_->used_octets() : 0;
        if (used == 0 || used > kWord || layout.reverse_at != 0) {
            return;
        }
        if (const auto place = KeyMasks(key).free_octets(used)) {
            is_in_short_key_ = true;
            in_short_key_.shift = *place % kWord * 8;
            in_short_key_.room[*place / kWord] = ~std::uint64_t{0} >> (kWord - used) * 8
                                                                          << in_short_key_.shift;
        }
    }

    [[nodiscard]] bool is_there() const noexcept { return extractor_ != nullptr; }
    /// Whether the ShortKeys of packets and entries have the octets.
    [[nodiscard]] bool is_in_short_key() const noexcept { return is_in_short_key_; }
    /// Where they are then.
    struct InShortKey {
        std::array<std::uint64_t, 2> room{};  ///< the bits that they have in the first two words
        std::size_t shift = 0;                ///< of the octets in the one word that has some

        /// @param words   of a ShortKey without them
        /// @param octets  and zeros, up to 8
        [[nodiscard, gnu::always_inline]] ShortKey::Words with_octets(
            ShortKey::Words words, const std::byte* octets) const noexcept {
            const std::uint64_t shifted = load_word(octets) << shift;
            return {words[0] | (shifted & room[0]), words[1] | (shifted & room[1]), words[2]};
        }
        [[nodiscard]] ShortKey without_octets(ShortKey key) const noexcept {
            ShortKey::Words words = key.words();
            key.set_words({words[0] & ~room[0], words[1] & ~room[1], words[2]});
            return key;
        }
    };
    [[nodiscard]] const InShortKey& in_short_key() const noexcept { return in_short_key_; }
    [[nodiscard]] std::span<const std::byte> of(const KeyedPacket& packet) const noexcept {
        return {packet.extension, octets_};
    }
    [[nodiscard]] std::byte* in(GroupBytes groups) const noexcept {
        return &groups.get<std::byte>(at_);
    }

    /// Takes a packet's octets, and gives them to it; put_in_key() has to follow.
    ///
    /// @param to  octets of this packet alone, aligned to 8; they outlive its burst
    void extract(KeyedPacket& packet, std::byte* to) const noexcept {
        extractor_->extract(*packet.packet, *packet.fields, to);
        packet.extension = to;
    }
    /// Makes the octets that a packet has a part of its key: it turns them to the canonical key's
    /// direction, or writes them into its ShortKey. Where both ends of its FlowKey are equal, the
    /// octets say which direction is the canonical one, and `is_swapped` follows.
    ///
    /// @param packet  its extension is as the extractor takes it
    /// @param masks   of the table's key
    void put_in_key(KeyedPacket& packet, const KeyMasks& masks) const noexcept {
        if (is_in_short_key_) {
            packet.key.set_words(in_short_key_.with_octets(packet.key.words(), packet.extension));
        } else if (has_sides_) [[unlikely]] {
            turn_sides(packet, masks);
        }
    }
    /// @param starts_swapped  of the entry
    /// @param of_entry        in(its groups)
    [[nodiscard]] bool is_same(const KeyedPacket& packet, bool starts_swapped,
                               const std::byte* of_entry) const noexcept {
        if (has_sides_ && starts_swapped) [[unlikely]] {
            return is_other_direction(packet.extension, of_entry);
        }
        return have_same_words(packet.extension, of_entry);
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
    static constexpr std::size_t kWord = sizeof(std::uint64_t);

    /// Without a call, since most keys have one word or two.
    [[nodiscard]] bool have_same_words(const std::byte* a, const std::byte* b) const noexcept {
        std::uint64_t difference = 0;
        for (std::size_t at = 0; at < octets_; at += kWord) {
            difference |= load_word(a + at) ^ load_word(b + at);
        }
        return difference == 0;
    }
    [[nodiscard, gnu::noinline]] bool is_other_direction(const std::byte* octets,
                                                         const std::byte* of) const noexcept {
        return have_same_words(swapped(octets).data(), of);
    }
    [[gnu::noinline]] void turn_sides(KeyedPacket& packet, const KeyMasks& masks) const noexcept {
        std::byte* const octets = packet.extension;
        if (packet.is_swapped) {
            extractor_->swap_sides(octets);
        } else if (masks.has_equal_ends(*packet.fields) &&
                   masks.can_be_paired(packet.fields->protocol)) {
            const Octets other = swapped(octets);
            packet.is_swapped = std::memcmp(other.data(), octets, octets_) < 0;
            if (packet.is_swapped) {
                std::memcpy(octets, other.data(), octets_);
            }
        }
    }
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
    bool is_in_short_key_ = false;
    InShortKey in_short_key_;
};

}  // namespace tributary
