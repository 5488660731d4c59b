// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/record/prefetch.hpp"
#include "perf/support/huge_memory.hpp"
#include "perf/support/random.hpp"

namespace tributary::perf {

/// Average shares of faulty segments.
struct SegmentFaults {
    double retransmitted{};
    double duplicated{};
    double reordered{};             ///< sent after the following one
    std::uint32_t one_flow_in = 1;  ///< only one in so many flows has faults, and more of them
};

/// Counts of sent segments, with the names of the analysis.
struct SentSegments {
    std::uint64_t segments{};
    std::uint64_t retransmissions{};
    std::uint64_t duplicates{};
    std::uint64_t out_of_order{};
};

/// Chooses the next segment of each flow of a population: data of constant length, octet after
/// octet except for faults. A fault concerns the flow's last segment; after an omitted segment, the
/// flow's next packet is that segment.
class TcpSender {
public:
    static constexpr std::uint32_t kPayloadBytes = 100;
    static constexpr std::uint16_t kWindow = 502;  ///< often announced by Linux hosts

    struct Segment {
        std::uint32_t sequence;  ///< relative to the flow's first one
        std::uint16_t identification;
    };

    /// @param flows  active at any time
    TcpSender(std::uint32_t flows, const SegmentFaults& faults)
        : one_flow_in_(faults.one_flow_in),
          memory_(flows * sizeof(State)),
          states_(reinterpret_cast<State*>(memory_.bytes().data()), flows) {
        const double scale = 0x1p32 * faults.one_flow_in;
        retransmit_below_ = static_cast<std::uint64_t>(faults.retransmitted * scale);
        duplicate_below_ =
            retransmit_below_ + static_cast<std::uint64_t>(faults.duplicated * scale);
        reorder_below_ = duplicate_below_ + static_cast<std::uint64_t>(faults.reordered * scale);
    }

    /// Prefetches the state of a flow that sends soon.
    void prefetch(std::uint32_t slot) const noexcept { prefetch_to_write(&states_[slot]); }

    /// @param slot        of the flow
    /// @param generation  of the flow: the slot's number of former flows
    [[nodiscard]] Segment next(std::uint32_t slot, std::uint32_t generation) noexcept {
        ++sent_.segments;
        State& state = states_[slot];
        const auto lap = static_cast<std::uint8_t>(generation);
        if (state.next == 0 || state.lap != lap) {
            state = {.next = 1, .identification = 0, .lap = lap, .mood = Mood::plain};
            return {0, 0};
        }
        if (state.mood != Mood::plain) [[unlikely]] {
            return after_gap(state);
        }
        return reorder_below_ == 0 || slot % one_flow_in_ != 0 ? fresh(state) : drawn(state);
    }
    /// The one segment of a flow without a slot.
    [[nodiscard]] Segment single() noexcept {
        ++sent_.segments;
        return {0, 0};
    }
    [[nodiscard]] const SentSegments& sent() const noexcept { return sent_; }

private:
    enum class Mood : std::uint8_t {
        plain,     ///< the last segment was the one before `next`, or a copy of it
        owes_one,  ///< the last segment but one was left out
        was_late,  ///< the omitted segment was sent last
    };
    /// All zeros: nothing sent.
    struct State {
        std::uint32_t next;  ///< number of the next new segment
        std::uint16_t identification;
        std::uint8_t lap;  ///< generation of the state's flow, modulo 256
        Mood mood;
    };

    [[nodiscard]] static Segment segment(const State& state, std::uint32_t number) noexcept {
        return {number * kPayloadBytes, state.identification};
    }
    [[nodiscard]] static Segment fresh(State& state) noexcept {
        ++state.identification;
        return segment(state, state.next++);
    }
    [[nodiscard]] Segment after_gap(State& state) noexcept {
        if (state.mood == Mood::was_late) {
            state.mood = Mood::plain;
            return fresh(state);
        }
        state.mood = Mood::was_late;
        ++sent_.out_of_order;
        ++state.identification;
        return segment(state, state.next - 2);
    }
    [[nodiscard]] Segment drawn(State& state) noexcept {
        const std::uint32_t chance = random_.next();
        if (chance >= reorder_below_) {
            return fresh(state);
        }
        if (chance < retransmit_below_) {
            ++sent_.retransmissions;
            ++state.identification;
            return segment(state, state.next - 1);
        }
        if (chance < duplicate_below_) {
            ++sent_.duplicates;
            return segment(state, state.next - 1);
        }
        state.mood = Mood::owes_one;
        ++state.next;
        return fresh(state);
    }

    std::uint32_t one_flow_in_;
    std::uint64_t retransmit_below_{};  ///< in units of 2^-32
    std::uint64_t duplicate_below_{};
    std::uint64_t reorder_below_{};
    HugeMemory memory_;
    std::span<State> states_;
    Random random_{0x9E6C'63D0'876A'9A4F};  ///< independent of the population's
    SentSegments sent_;
};

}  // namespace tributary::perf
