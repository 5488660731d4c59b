// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/record/cache_counters.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/tcp/tcp_connection.hpp"
#include "flowcache/tcp/tcp_loss_state.hpp"
#include "flowcache/tcp/tcp_record.hpp"
#include "flowcache/tcp/tcp_sequence.hpp"
#include "flowcache/tcp/tcp_signature.hpp"
#include "flowcache/tcp/tcp_state.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// Finds retransmissions, duplicates and the like among the segments of flows, in the order in
/// which they come. One object updates the states of all flows of a cache.
///
///     seen:      low ........ next     all octets between them were seen, but those in holes
///     a segment  begins at next                                    data as it should be
///                begins behind it                                  leaves a hole
///                has an octet that was seen                        retransmission
///                has only octets of holes, or before the first     out of order
///
/// An undisturbed direction needs a TcpState only, 64 octets. Where something goes wrong it gets a
/// TcpLossState, of which there is one for each eight flows. When none is left, or a direction has
/// more holes than one holds, the segments that cannot be judged are counted as `overflow`, and as
/// nothing else. A copy that comes too late to be found counts as a retransmission.
///
/// @thread  the thread that owns the cache; nothing allocates
/// @cost    one cache line; in a disturbed direction two more
/// @source  docs/tcp-records.md; RFC 9293; gpu-tcp-flow-records (2015), 2.3
class TcpAnalysis {
public:
    /// @param memory    of free TcpLossStates; outlives the analysis, as the counters do
    TcpAnalysis(const FlowCacheOptions& options, std::span<TcpLossState> memory,
                CacheCounters& counters) noexcept
        : duplicate_time_(options.tcp_duplicate_time),
          retransmission_time_(options.tcp_retransmission_time.count() > 0
                                   ? options.tcp_retransmission_time
                                   : std::chrono::nanoseconds::max()),
          shortest_time_(std::min(duplicate_time_, retransmission_time_)),
          loss_states_(memory),
          counters_(counters) {}

    /// A direction that has no segment yet.
    static void begin(TcpState& state) noexcept {
        state = {};
        state.loss_state = TcpState::kNoLossState;
    }

    /// A shorter silence does not make it forget anything.
    [[nodiscard]] Timestamp::duration shortest_time() const noexcept { return shortest_time_; }

    /// The direction's next segment comes after `silence`; negative when packets are late. This,
    /// add() and just_goes_on() are always inlined: as calls they cost 3 ns a packet.
    [[gnu::always_inline]] void pause(TcpState& state, std::chrono::nanoseconds silence) noexcept {
        if (silence > shortest_time_) [[unlikely]] {
            forget_after(state, silence);
        }
    }

    /// @param state  of the direction or of any other; or an entry's bytes that are no state
    [[gnu::always_inline]] void prefetch_loss_state(const TcpState& state) const noexcept {
        loss_states_.prefetch(state.loss_state);
    }

    /// @param segment  with `has_tcp_segment`
    /// @return         whether it just went on: just_goes_on()
    [[gnu::always_inline]] bool add(TcpState& state, const PacketFields& segment,
                                    Timestamp seen_at) noexcept {
        const std::uint32_t signature = signature_of(segment);
        if (just_goes_on(state, segment, signature)) [[likely]] {
            ++state.segments;
            state.data_segments += segment.tcp.payload_bytes > 0 ? 1 : 0;
            tcp::remember(state.recent, signature);
            state.go_on_to(state.next + segment.tcp.payload_bytes);
            return true;
        }
        add_any(state, segment, signature, seen_at);
        return false;
    }

    /// The analysis of the direction in a record. The flow's records before have reported the rest.
    [[nodiscard]] TcpAnalysisGroup report(const TcpState& state) const noexcept {
        return tcp::report(state, loss_state_if_any(state));
    }
    /// Begins the next record of a flow that goes on.
    void begin_next_record(TcpState& state) noexcept {
        tcp::begin_next_record(state, loss_state_if_any(state));
    }
    /// The flow has ended.
    void end(TcpState& state) noexcept {
        if (state.loss_state != TcpState::kNoLossState) {
            give_loss_state_back(state);
        }
    }

private:
    using Range = tcp::Range;

    void give_up(TcpState& state) noexcept {
        tcp::increase(state.overflow);
        counters_.tcp_segments_unjudged.add();
    }

    /// Whether a segment changes nothing but what it adds: it follows on those before it in a
    /// direction in which nothing went wrong. add_any() has the same result.
    [[nodiscard, gnu::always_inline]] static bool just_goes_on(const TcpState& state,
                                                               const PacketFields& segment,
                                                               std::uint32_t signature) noexcept {
        return segment.tcp.sequence == state.next && tcp::is_plain(segment) &&
               state.segments != 0 && state.is_known != 0 &&
               state.loss_state == TcpState::kNoLossState &&
               tcp::is_new(segment, signature, state.recent);
    }
    /// Never inlined, so that the common path is short.
    [[gnu::noinline]] void add_any(TcpState& state, const PacketFields& segment,
                                   std::uint32_t signature, Timestamp seen_at) noexcept {
        tcp::count(state, segment);
        if (is_copy(state, segment, signature)) [[unlikely]] {
            if (TcpLossState* const loss_state = loss_state_of(state)) {
                ++loss_state->duplicates;
            }
            return;
        }
        remember(state, signature);
        if (tcp::has(segment, tcp_flag::kSyn)) [[unlikely]] {
            add_syn(state, segment, seen_at);
        }
        add_data(state, segment);
        if (tcp::has(segment, tcp_flag::kFin)) [[unlikely]] {
            tcp::add_fin(state, segment, seen_at);
        }
    }

    /// Whether it is a copy of a recent segment. Data that follows on all that was seen is none:
    /// is_new().
    [[nodiscard]] bool is_copy(const TcpState& state, const PacketFields& segment,
                               std::uint32_t signature) const noexcept {
        const bool follows = state.is_known != 0 && segment.tcp.sequence == state.next &&
                             !tcp::has(segment, tcp_flag::kSyn);
        if (follows && segment.tcp.payload_bytes > 0) {
            return false;
        }
        const TcpLossState* const loss_state = loss_state_if_any(state);
        return tcp::is_among(state.recent, signature) ||
               (loss_state != nullptr &&
                std::ranges::find(loss_state->recent, signature) != loss_state->recent.end());
    }
    void remember(TcpState& state, std::uint32_t signature) noexcept {
        const std::uint32_t oldest = tcp::remember(state.recent, signature);
        if (TcpLossState* const loss_state = loss_state_if_any(state)) {
            loss_state->recent[loss_state->next_recent] = oldest;
            loss_state->next_recent =
                static_cast<std::uint16_t>((loss_state->next_recent + 1U) % TcpLossState::kRecent);
        }
    }
    [[gnu::noinline]] void forget_after(TcpState& state,
                                        std::chrono::nanoseconds silence) noexcept {
        if (silence > duplicate_time_) {
            forget_recent(state);
        }
        if (silence > retransmission_time_) {
            forget_octets(state);
        }
    }
    void forget_recent(TcpState& state) noexcept {
        state.recent = {};
        TcpLossState* const loss_state = loss_state_if_any(state);
        if (loss_state == nullptr) {
            return;
        }
        loss_state->recent = {};
        if (loss_state->is_over()) {
            give_loss_state_back(state);
        }
    }

    void forget_octets(TcpState& state) noexcept {
        state.is_known = 0;
        if (TcpLossState* const loss_state = loss_state_if_any(state)) {
            loss_state->hole_count = 0;
        }
    }
    /// Takes these octets as the first that were seen, and forgets all others.
    void restart_at(TcpState& state, const Range& octets) noexcept {
        forget_octets(state);
        state.is_known = 1;
        state.is_low_raised = 0;
        state.low = octets.begin;
        state.next = octets.end;
    }

    /// Takes the first octets of a direction of which only numbers were seen before, by SYN or in
    /// the middle. What lies between was lost, is late, or came before the flow was met. It is no
    /// hole, but from now on the direction counts as disturbed.
    [[gnu::noinline]] void restart_behind_gap(TcpState& state, const Range& data) noexcept {
        take_loss_state(state);  // if none is left, only copies further back are missed
        restart_at(state, data);
    }

    /// A SYN with another number than the one before begins a new connection.
    void add_syn(TcpState& state, const PacketFields& segment, Timestamp seen_at) noexcept {
        const std::uint32_t sequence = segment.tcp.sequence;
        const bool repeats =
            state.has_syn != 0 && state.has_size == 0 && state.syn_or_size == sequence;
        const bool begins_what_is_known =
            state.is_known != 0 && (state.low == sequence + 1 || begins_below_gap(state, sequence));
        if (!repeats && !begins_what_is_known) {
            restart_at(state, {sequence + 1, sequence + 1});
        }
        tcp::add_syn(state, segment, repeats, seen_at);
    }

    /// Whether the record began with this SYN or the number behind it, and its first octets lie
    /// beyond: restart_behind_gap().
    [[nodiscard]] static bool begins_below_gap(const TcpState& state,
                                               std::uint32_t sequence) noexcept {
        const bool is_first =
            state.first_sequence == sequence || state.first_sequence == sequence + 1;
        return is_first && state.segments > 1 && tcp::ahead(sequence + 1, state.low) > 0;
    }

    void add_data(TcpState& state, const PacketFields& segment) noexcept {
        const Range data = tcp::data_of(segment);
        if (state.is_known == 0) {
            restart_at(state, data);
            return;
        }
        const std::int32_t from_next = tcp::ahead(state.next, data.begin);
        if (from_next == 0) [[likely]] {
            go_on_to(state, data.end);
        } else if (tcp::is_probe(segment, state.next)) {
            if (TcpLossState* const loss_state = loss_state_of(state)) {
                ++loss_state->keep_alives;
            }
        } else if (segment.tcp.payload_bytes == 0) {
            return;
        } else if (from_next > tcp::kFarthest || from_next < -tcp::kFarthest) {
            give_up(state);
            restart_at(state, data);
            state.raise_low(data.begin);
        } else if (from_next > 0 && state.low == state.next && state.is_low_raised == 0) {
            restart_behind_gap(state, data);
        } else if (from_next > 0) {
            insert_hole(state, {state.next, data.begin});
            go_on_to(state, data.end);
        } else {
            add_behind(state, data);
        }
    }
    void go_on_to(TcpState& state, std::uint32_t next) noexcept {
        if (!state.go_on_to(next)) {
            if (TcpLossState* const loss_state = loss_state_if_any(state)) {
                loss_state->drop_holes_below(state.low);
            }
        }
    }

    /// Data whose first octet at least is not ahead of all that was seen.
    void add_behind(TcpState& state, const Range& data) noexcept {
        const bool is_below = tcp::ahead(state.low, data.begin) < 0;
        if (is_below && state.is_low_raised != 0) {
            give_up(state);
            pass_unjudged(state, data);
            return;
        }
        TcpLossState* const loss_state = loss_state_of(state);
        if (loss_state == nullptr) {
            if (is_below) {
                state.raise_low(state.low);
            }
            pass_unjudged(state, data);
            return;
        }
        const std::uint32_t known_end = tcp::earlier(state.next, data.end);
        std::uint32_t repeated = known_end - data.begin;
        if (is_below) {
            repeated -= lower(state, data);
        }
        const TcpLossState::Filled filled = loss_state->fill_holes(data);
        repeated -= filled.octets;
        if (filled.rest.begin != filled.rest.end) {
            insert_hole(state, filled.rest);
        }
        if (repeated > 0) {
            ++loss_state->retransmissions;
            loss_state->retransmitted_octets += repeated;
        } else {
            ++loss_state->out_of_order;
        }
        if (tcp::ahead(state.next, data.end) > 0) {
            go_on_to(state, data.end);
        }
    }
    /// Data that cannot be judged was seen nevertheless.
    void pass_unjudged(TcpState& state, const Range& data) noexcept {
        if (TcpLossState* const loss_state = loss_state_if_any(state)) {
            const TcpLossState::Filled filled = loss_state->fill_holes(data);
            if (filled.rest.begin != filled.rest.end) {
                insert_hole(state, filled.rest);
            }
        }
        if (tcp::ahead(state.next, data.end) > 0) {
            go_on_to(state, data.end);
        }
    }
    /// Takes data that begins before all that was seen. @return  its octets before them
    [[nodiscard]] std::uint32_t lower(TcpState& state, const Range& data) noexcept {
        const std::uint32_t low = state.low;
        state.low = data.begin;
        if (tcp::ahead(data.end, low) <= 0) {
            return low - data.begin;
        }
        insert_hole(state, {data.end, low});
        return data.end - data.begin;
    }
    /// If there is no room for it, the lowest hole is dropped, and segments below it are not judged
    /// any more.
    void insert_hole(TcpState& state, const Range& hole) noexcept {
        TcpLossState* const loss_state = loss_state_of(state);
        if (loss_state == nullptr) {
            state.raise_low(hole.end);
        } else if (const auto dropped = loss_state->insert_hole(hole)) {
            give_up(state);
            state.raise_low(dropped->end);
        }
    }

    /// Gives the direction a TcpLossState, if one is left.
    void take_loss_state(TcpState& state) noexcept {
        if (state.loss_state == TcpState::kNoLossState) {
            state.loss_state = loss_states_.take() & TcpState::kNoLossState;
        }
    }
    void give_loss_state_back(TcpState& state) noexcept {
        loss_states_.give_back(state.loss_state);
        state.loss_state = TcpState::kNoLossState;
    }
    /// The direction's TcpLossState; nullptr: it has none.
    [[nodiscard]] TcpLossState* loss_state_if_any(const TcpState& state) const noexcept {
        return state.loss_state == TcpState::kNoLossState ? nullptr
                                                          : &loss_states_[state.loss_state];
    }
    /// The direction's TcpLossState, or a new one. @return  nullptr: none is left, which is counted
    [[nodiscard]] TcpLossState* loss_state_of(TcpState& state) noexcept {
        take_loss_state(state);
        if (state.loss_state == TcpState::kNoLossState) {
            give_up(state);
            return nullptr;
        }
        return &loss_states_[state.loss_state];
    }

    std::chrono::nanoseconds duplicate_time_;
    std::chrono::nanoseconds retransmission_time_;
    std::chrono::nanoseconds shortest_time_;  ///< of both; no shorter silence changes anything
    TcpLossPool loss_states_;
    CacheCounters& counters_;
};

}  // namespace tributary
