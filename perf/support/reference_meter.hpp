// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>

#include "flowcache/deadlines.hpp"
#include "flowcache/record/flow_direction.hpp"
#include "flowcache/record/flow_record.hpp"
#include "parsers/parse_packet.hpp"
#include "perf/support/in_turn.hpp"

namespace tributary::perf {

/// A slow and plain flow cache made of std::unordered_map, as reference for records. It keeps its
/// records as texts, to compare them with a real cache's in any order.
///
/// A conversation has two directions; a uniflow's has packets in the first only. The sender of its
/// first packet is the initiator, and stays so until the conversation is idle, even if records end.
class ReferenceMeter {
public:
    explicit ReferenceMeter(const FlowCacheOptions& options) : options_(options) {}

    /// @param fields  of a packet at `now`; for biflows neither TCP nor ICMP
    void packet(const PacketFields& fields, InterfaceIndex interface, Timestamp now) {
        const bool biflow = options_.direction == FlowDirection::biflow;
        const bool backward = biflow && fields.destination < fields.source;
        const FlowKey key = key_of(fields, interface, backward);
        Conversation& flow = running_.try_emplace(bytes_of(key)).first->second;
        end_if_due(flow, now);
        if (!flow.is_open) {
            flow.key = key_of(fields, interface, false);
            flow.initiator_is_backward = backward;
            flow.is_open = true;
        }
        if (flow.packets() == 0) {
            flow.start = now;
        }
        flow.end = now;
        flow.directions[backward == flow.initiator_is_backward ? 0 : 1].add(fields, now);
    }
    void finish(Timestamp now) {
        for (auto& [key, flow] : running_) {
            end_if_due(flow, now);
            end(flow, FlowEndReason::forced_end);
        }
        running_.clear();
    }

    /// Subtracts a record of the cache under test.
    ///
    /// @param record  of the layout
    void expect(const FlowRecordCore& record, const RecordLayout& layout = {}) {
        Direction reverse;
        if (layout.reverse_at != 0) {
            const auto& group = *reinterpret_cast<const ReverseGroup*>(
                reinterpret_cast<const std::byte*>(&record) + layout.reverse_at);
            reverse = {group.packets, group.octets, group.start, group.end};
        }
        --balance_[text_of(record.key, {record.packets, record.octets, record.start, record.end},
                           reverse, record.end_reason)];
    }
    /// Throws unless both made the same records, equally often.
    void check(const std::string& what) const {
        for (const auto& [text, count] : balance_) {
            demand(count == 0, what + ": " + text + (count > 0 ? " is missing" : " is too much"));
        }
    }

private:
    struct Direction {
        std::uint64_t packets{};
        std::uint64_t octets{};
        Timestamp start{};
        Timestamp end{};

        void add(const PacketFields& fields, Timestamp now) {
            start = packets == 0 ? now : start;
            end = now;
            packets += 1;
            octets += fields.ip_bytes;
        }
    };
    struct Conversation {
        FlowKey key;  ///< of the initiator's packets
        bool is_open = false;
        bool initiator_is_backward = false;
        Timestamp start;  ///< of the record, both directions
        Timestamp end;    ///< last packet, also of an ended record
        std::array<Direction, 2> directions;

        [[nodiscard]] std::uint64_t packets() const {
            return directions[0].packets + directions[1].packets;
        }
    };

    [[nodiscard]] static FlowKey key_of(const PacketFields& fields, InterfaceIndex interface,
                                        bool is_swapped) {
        ShortKey key;
        write_key(key, words_of_packet(fields, interface), is_swapped);
        return whole_key(key, swapped_addresses(fields, is_swapped));
    }
    [[nodiscard]] static std::string bytes_of(const FlowKey& key) {
        std::string bytes(sizeof key, '\0');
        std::memcpy(bytes.data(), &key, sizeof key);
        return bytes;
    }
    [[nodiscard]] static std::string text_of(const FlowKey& key, const Direction& forward,
                                             const Direction& reverse, FlowEndReason reason) {
        std::string text = "flow";
        for (const IpAddress& address : {key.source, key.destination}) {
            for (const auto byte : address) {
                text += ' ' + std::to_string(std::to_integer<int>(byte));
            }
        }
        for (const Direction& direction : {forward, reverse}) {
            text += ": " + std::to_string(direction.packets) + ' ' +
                    std::to_string(direction.octets) + ' ' +
                    std::to_string(direction.start.time_since_epoch().count()) + ' ' +
                    std::to_string(direction.end.time_since_epoch().count());
        }
        return text + ": " + std::to_string(static_cast<int>(reason));
    }

    void end_if_due(Conversation& flow, Timestamp now) {
        if (flow.packets() > 0) {
            const Deadline deadline = deadline_of(flow.start, flow.end, options_);
            if (now > deadline.at) {
                end(flow, deadline.reason);
            }
        }
        if (now > flow.end + options_.idle_timeout) {
            flow.is_open = false;
        }
    }
    /// Ends the record, if any. Only the active timeout leaves a biflow's conversation open.
    void end(Conversation& flow, FlowEndReason reason) {
        const bool biflow = options_.direction == FlowDirection::biflow;
        if (flow.packets() > 0) {
            Direction forward = flow.directions[0];
            if (forward.packets == 0) {  // its times are the reverse direction's start
                forward.start = forward.end = flow.directions[1].start;
            }
            ++balance_[text_of(flow.key, forward, flow.directions[1], reason)];
        }
        flow.directions = {};
        flow.is_open = biflow && reason == FlowEndReason::active_timeout;
    }

    FlowCacheOptions options_;
    std::unordered_map<std::string, Conversation> running_;
    std::map<std::string, std::int64_t>
        balance_;  ///< records of this meter minus the expected ones
};

}  // namespace tributary::perf
