// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "daemon/base/options.hpp"
#include "daemon/filter/packet_filter.hpp"
#include "daemon/recorder/packet_dump.hpp"
#include "daemon/trigger/flow_identity.hpp"
#include "daemon/trigger/watched_table.hpp"
#include "flowcache/input/fragment_table.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/key_masks.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// The packets that belong to a flow for which a trigger has fired: those of the flow itself, or
/// those of its hosts. Packets come in the order of their queues, as the flow's did.
///
/// @thread  one
class ChosenPackets final : public RecordedSelector {
public:
    /// @param packets  flow or hosts
    /// @param hasher   of the recorder's stages
    /// @errors         PacketFilterError: a host name of a filter has no address any more;
    ///                 std::bad_alloc
    ChosenPackets(std::shared_ptr<const WatchedTable> table, TriggerPackets packets,
                  const FlowIdentity& flow, FlowHasher hasher);

    [[nodiscard]] PacketMask select(std::span<const RecordedPacket> packets) noexcept override;
    /// Whether a packet is wanted that was metered with these fields.
    [[nodiscard]] bool wants_metered(const PacketView& packet,
                                     const PacketFields& fields) const noexcept;
    /// KeptMetadata::flow_hash of all packets that are wanted; nothing: they may have any.
    [[nodiscard]] std::optional<std::uint32_t> flow_hash() const noexcept { return flow_hash_; }

private:
    [[nodiscard]] bool wants_recorded(const RecordedPacket& packet,
                                      const PacketView& view) noexcept;
    [[nodiscard]] bool passes_filters(const PacketView& packet) const noexcept;
    [[nodiscard]] FlowIdentity identity_of(const PacketView& packet,
                                           const PacketFields& fields) const noexcept;
    [[nodiscard]] bool is_of_flow(const PacketView& packet,
                                  const PacketFields& fields) const noexcept;
    [[nodiscard]] bool is_of_hosts(const PacketFields& fields) const noexcept;
    [[nodiscard]] bool is_fragment_of_flow(const PacketView& packet,
                                           const PacketFields& fields) const noexcept;
    [[nodiscard]] bool is_equal(const FlowIdentity& other) const noexcept;
    void turn(FlowIdentity& identity) const noexcept;

    std::shared_ptr<const WatchedTable> table_;
    TriggerPackets packets_;
    FlowIdentity flow_;
    KeyMasks masks_;
    std::optional<std::uint32_t> flow_hash_;
    mutable std::deque<PacketFilter> filters_;  ///< select() counts nothing, and is not const
    std::optional<FragmentTable> fragments_;
    FragmentCounters fragment_counters_;  ///< FragmentTable needs some; they are in no ledger
};

}  // namespace tributary
