// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "flowcache/flow_direction.hpp"
#include "flowcache/flow_line.hpp"
#include "flowcache/flow_record.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// The two directions of a biflow's entry. Of the one from the initiator the line has the counts,
/// and the groups its times and its field groups; of the other one the groups have all.
class BiflowEntry {
public:
    /// @param line, groups  of the entry, which outlives this
    BiflowEntry(FlowLine& line, GroupBytes groups, const RecordLayout& layout) noexcept
        : line_(line), groups_(groups), layout_(layout) {}

    [[nodiscard]] ReverseGroup& reverse() const noexcept {
        return groups_.get<ReverseGroup>(layout_.reverse_at);
    }
    [[nodiscard]] PacketSpan& forward_span() const noexcept {
        return groups_.get<PacketSpan>(layout_.forward_span_at);
    }

    /// Adds what somebody else has counted of one direction, unless that has no packet of its own.
    [[nodiscard]] bool add_counted(bool is_reverse, const PacketCounts& counts,
                                   const PacketSpan& span) const noexcept {
        if ((is_reverse ? reverse().packets : line_.packets) == 0) {
            return false;
        }
        if (is_reverse) {
            add_counts(reverse(), counts);
            widen(reverse(), span.start, span.end);
        } else {
            add_counts(line_, counts);
            widen(forward_span(), span.start, span.end);
        }
        return true;
    }

    /// A packet with FIN is about to be added.
    void note_fin(const KeyedPacket& packet) const noexcept {
        line_.finished = (line_.finished | (line_.is_reverse(packet) ? 2U : 1U)) & 3U;
    }

private:
    FlowLine& line_;
    GroupBytes groups_;
    const RecordLayout& layout_;
};

}  // namespace tributary
