// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "flowcache/entry_index.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Names a flow while it runs, through all records that the active timeout cuts. It becomes stale
/// when the flow ends, and stays so: a call with a stale handle fails, and never reaches the
/// entry's next flow. It is for programs that count or end flows from outside, and for holders of
/// flows (FlowHolder).
struct FlowHandle {
    EntryIndex entry = kNoEntry;  ///< below entries_for(); other flows that run have other ones
    std::uint32_t generation{};  ///< 22 bits: an entry's flow has that of the 2^22nd flow before it
    bool is_swapped{};  ///< of a biflow: the direction is that of such packets (KeyedPacket)
    friend bool operator==(const FlowHandle&, const FlowHandle&) = default;
};

template <std::size_t kRecordBytes, class HookedGroups>
class EntryUpdate;

/// The counts of an entry that is expanded.
struct EntryCounts {
    std::uint64_t packets;
    std::uint64_t octets;
    Timestamp start;  ///< later than any packet while the entry has none (clear_counts())
};

/// The place of an entry's counts, or of its CompactTcp. Only EntryUpdate::expanded() gives access
/// to the counts, and it expands the entry first.
class CountsPlace {
private:
    friend class CompactTcp;
    template <std::size_t kRecordBytes, class HookedGroups>
    friend class EntryUpdate;

    EntryCounts counts_;
};

/// The 64 bytes of a running flow that each of its packets touches. An IPv4 uniflow without field
/// groups has nothing else. GroupPlace defines where groups lie; IPv6 addresses are in an array of
/// their own, at the same index. The HotEntry of a biflow has the counts of the direction from the
/// initiator, but the times of both directions, from which its deadlines follow.
struct alignas(64) HotEntry {
    static constexpr std::uint32_t kGenerations = (1U << 22U) - 1;

    ShortKey key;  ///< of a biflow: the canonical one
    std::uint16_t tcp_control_bits;
    std::uint8_t ip_class_of_service;
    FlowEndReason end_reason : 3;  ///< none: it runs
    std::uint8_t is_held : 1;      ///< by a FlowHolder, perhaps; without one it is 0
    CountsPlace counts;
    Timestamp end;
    std::uint32_t bucket;  ///< that holds it; of a record that waits: the next entry that waits
    std::uint32_t generation : 22;
    std::uint32_t is_compact : 1;      ///< CompactTcp lies in place of the counts
    std::uint32_t was_cut : 1;         ///< the active timeout has ended a record of this flow
    std::uint32_t distance : 4;        ///< of FlowIndex::Place
    std::uint32_t end_was_seen : 1;    ///< of the connection, in this record: TcpEnd
    std::uint32_t starts_swapped : 1;  ///< a biflow whose initiator is the key's destination
    /// Directions of a biflow that have sent FIN, also in a record that has ended: 1 forward, 2
    /// reverse. With `tcp_end` both are set after RST, and in a uniflow also after FIN.
    std::uint32_t finished : 2;

    [[nodiscard]] bool is_running() const noexcept { return end_reason == FlowEndReason::none; }
    void make_handles_stale() noexcept { generation = (generation + 1) & kGenerations; }
    /// Whether a packet of this flow goes to the initiator of a biflow.
    [[nodiscard]] bool is_reverse(const KeyedPacket& packet) const noexcept {
        return is_reverse(packet.is_swapped);
    }
    [[nodiscard]] bool is_reverse(bool is_swapped) const noexcept {
        return is_swapped != (starts_swapped != 0);
    }
};
static_assert(kFlowEndReasonCount <= 1U << 3U);
static_assert(sizeof(HotEntry) == 64 && std::is_trivially_copyable_v<HotEntry>);

}  // namespace tributary
