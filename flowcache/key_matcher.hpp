// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flowcache/declared_key.hpp"
#include "flowcache/flow_entries.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_direction.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "flowcache/record/key_masks.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// Hashes a packet's key and compares it with a flow's: the whole key, and its extension, if it has
/// one. Extensions are not in FlowKey, because few tables have one, and it would double the key for
/// all.
class KeyMatcher {
public:
    /// @param layout  has the group of the key's extension
    KeyMatcher(FlowHasher hasher, const RecordLayout& layout, const KeyDescriptor& key) noexcept
        : hasher_(hasher),
          masks_(key),
          tunnel_at_(key.extension == KeyExtension::tunnel ? layout.at<TunnelGroup>()
                                                           : std::uint16_t{0}),
          declared_(layout, key),
          version_of_key_alone_(
              key.extension == KeyExtension::none || declared_.is_in_short_key() ? 4 : 0),
          adds_whole_addresses_(key.extension == KeyExtension::none && masks_.is_whole()) {}

    /// The hash of a packet, which has the octets of a declared extension.
    [[nodiscard]] FlowHash hash(const KeyedPacket& packet) const noexcept {
        const FlowHash of_key = hash_of_key(packet.key);
        return goes_beyond(packet.key) ? extended(of_key, packet) : of_key;
    }
    // The same in steps, for a loop in which few packets take the last one.
    [[nodiscard]] FlowHash hash_of_key(const ShortKey& key) const noexcept { return hasher_(key); }
    /// Whether more than this key identifies the packet's flow: IPv6 addresses, or an extension.
    [[nodiscard]] bool goes_beyond(const ShortKey& key) const noexcept {
        return key.ip_version != version_of_key_alone_;
    }
    [[nodiscard]] const DeclaredKey& declared() const noexcept { return declared_; }
    /// @param hash    of the packet's key
    /// @param packet  one whose key goes beyond the ShortKey
    [[nodiscard]] FlowHash extended(FlowHash hash, const KeyedPacket& packet) const noexcept {
        if (adds_whole_addresses_) [[likely]] {
            return hasher_(hash, swapped_addresses(*packet.fields, packet.is_swapped));
        }
        if (declared_.is_there()) {
            return declared_hash(packet);
        }
        if (packet.key.ip_version != 4) {
            hash = with_ipv6_addresses(hash, packet);
        }
        if (tunnel_at_ != 0) {
            hash = hasher_(hash, swapped(tunnel_of(*packet.fields), packet.is_swapped));
        }
        return hash;
    }
    /// hash() of a packet of a table with a declared extension.
    [[nodiscard]] FlowHash declared_hash(const KeyedPacket& packet) const noexcept {
        FlowHash hash = hash_of_key(packet.key);
        if (packet.key.ip_version != 4) {
            hash = with_ipv6_addresses(hash, packet);
        }
        return declared_.is_in_short_key() ? hash : hasher_(hash, declared_.of(packet));
    }
    /// @param hot   of one of the entries
    /// @return      whether it runs, and is that of this packet's flow
    template <class Entries>
    [[nodiscard]] bool is_same(const Entries& entries, HotEntry& hot,
                               const KeyedPacket& packet) const noexcept {
        return hot.key == packet.key && hot.is_running() &&
               (!goes_beyond(packet.key) || is_same_beyond_key(entries, hot, packet));
    }

private:
    /// Not inlined, so that the path of IPv4 is short.
    [[nodiscard, gnu::noinline]] FlowHash with_ipv6_addresses(
        FlowHash hash, const KeyedPacket& packet) const noexcept {
        return hasher_(hash, masks_.ipv6_addresses(*packet.fields, packet.is_swapped));
    }
    template <class Entries>
    [[nodiscard]] bool is_same_beyond_key(const Entries& entries, HotEntry& hot,
                                          const KeyedPacket& packet) const noexcept {
        if (adds_whole_addresses_) [[likely]] {
            return entries.ipv6(entries.index_of(hot)) ==
                   swapped_addresses(*packet.fields, packet.is_swapped);
        }
        return has_same_extension(entries, hot, packet);
    }
    /// Of addresses that are masked, and of extensions. Never inlined, so that the path of whole
    /// addresses is short.
    template <class Entries>
    [[nodiscard, gnu::noinline]] bool has_same_extension(const Entries& entries, HotEntry& hot,
                                                         const KeyedPacket& packet) const noexcept {
        return (packet.key.ip_version == 4 ||
                entries.ipv6(entries.index_of(hot)) ==
                    masks_.ipv6_addresses(*packet.fields, packet.is_swapped)) &&
               (tunnel_at_ == 0 ||
                entries.groups().of(hot).template get<TunnelGroup>(tunnel_at_) ==
                    swapped(tunnel_of(*packet.fields), hot.is_reverse(packet))) &&
               (!declared_.is_there() || declared_.is_in_short_key() ||
                declared_.is_same(packet, hot.starts_swapped != 0,
                                  declared_.in(entries.groups().of(hot))));
    }

    FlowHasher hasher_;
    KeyMasks masks_;
    std::uint16_t tunnel_at_;  ///< 0: not in the key
    DeclaredKey declared_;
    std::uint8_t version_of_key_alone_;  ///< IP version that needs the ShortKey alone; 0: none
    bool adds_whole_addresses_;  ///< beyond the ShortKey there are whole IPv6 addresses alone
};

}  // namespace tributary
