// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "flowcache/declared_key.hpp"
#include "flowcache/key_matcher.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_masks.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// Which of several workers owns the flow of a packet: that of its whole key, the same for both
/// directions of a biflow.
///
/// @thread  any: it does not change
class KeyOwners {
public:
    /// @param hasher   not that of the workers' caches: a worker's flows would meet in one part of
    ///                 its index
    /// @param options  of the caches
    /// @param layout   of their records
    /// @param workers  1 .. 65535
    KeyOwners(FlowHasher hasher, const FlowCacheOptions& options, const RecordLayout& layout,
              std::uint16_t workers) noexcept
        : matcher_(hasher, layout, options.key),
          masks_(options.key),
          direction_(options.direction),
          workers_(workers) {}

    /// @return  below the number of workers
    /// @cost    key and hash of the packet, as its cache makes them once more
    [[nodiscard]] std::uint16_t of(const PacketView& packet,
                                   const PacketFields& fields) const noexcept {
        constexpr unsigned kHalf = 32;
        KeyedPacket keyed;
        keyed.packet = &packet;
        keyed.fields = &fields;
        key_packet(keyed, direction_, masks_);
        struct alignas(8) Extension : DeclaredKey::Octets {};
        Extension extension;
        if (matcher_.declared().is_there()) {
            matcher_.declared().extract(keyed, extension.data());
            matcher_.declared().put_in_key(keyed, masks_);
        }
        return static_cast<std::uint16_t>((matcher_.hash(keyed) >> kHalf) * workers_ >> kHalf);
    }

private:
    KeyMatcher matcher_;
    KeyMasks masks_;
    FlowDirection direction_;
    std::uint16_t workers_;
};

}  // namespace tributary
