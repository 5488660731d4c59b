// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "flowcache/record/state_pool.hpp"
#include "flowcache/tcp/tcp_sequence.hpp"
#include "flowcache/tcp/tcp_state.hpp"

namespace tributary {

/// What the analysis keeps, beside its TcpState, of a direction in which something went wrong: two
/// cache lines.
struct alignas(64) TcpLossState {
    using Range = tcp::Range;
    static constexpr std::size_t kHoles = 8;
    static constexpr std::size_t kRecent = 8;

    std::uint64_t retransmitted_octets;
    std::uint32_t retransmissions;
    std::uint32_t duplicates;
    std::uint32_t out_of_order;
    std::uint32_t keep_alives;
    std::uint32_t next_free;  ///< while it is free
    std::uint16_t hole_count;
    std::uint16_t next_recent;
    std::array<Range, kHoles> holes;            ///< octets not seen, in their order
    std::array<std::uint32_t, kRecent> recent;  ///< older ones than TcpState has

    /// Whether only recent segments are left in it, and the record would report nothing of it.
    [[nodiscard]] bool is_over() const noexcept {
        return hole_count == 0 && retransmissions == 0 && duplicates == 0 && out_of_order == 0 &&
               keep_alives == 0;
    }

    /// Inserts a hole, or merges it with one that ends or begins at it.
    ///
    /// @return  the hole that was dropped for it: the lowest, which may be itself
    std::optional<Range> insert_hole(const Range& hole) noexcept {
        std::size_t at = hole_count;
        while (at > 0 && is_before(hole, holes[at - 1])) {
            --at;
        }
        if (at > 0 && holes[at - 1].end == hole.begin) {
            holes[at - 1].end = hole.end;
            return std::nullopt;
        }
        if (at < hole_count && holes[at].begin == hole.end) {
            holes[at].begin = hole.begin;
            return std::nullopt;
        }
        if (hole_count < kHoles) {
            insert_at(at, hole);
            return std::nullopt;
        }
        if (at == 0) {
            return hole;
        }
        const Range dropped = holes[0];
        remove_hole(0);
        insert_at(at - 1, hole);
        return dropped;
    }

    struct Filled {
        std::uint32_t octets = 0;  ///< that lay in holes
        Range rest{};              ///< the rest of a hole inside which the data ends; else empty
    };
    /// Takes data that was seen now out of the holes. The returned rest is no hole until it is
    /// inserted.
    [[nodiscard]] Filled fill_holes(const Range& data) noexcept {
        Filled filled;
        for (std::size_t at = 0; at < hole_count;) {
            Range& hole = holes[at];
            const std::uint32_t begin = tcp::later(hole.begin, data.begin);
            const std::uint32_t end = tcp::earlier(hole.end, data.end);
            if (tcp::ahead(begin, end) <= 0) {
                ++at;
                continue;
            }
            filled.octets += end - begin;
            if (end != hole.end) {
                filled.rest = {end, hole.end};
            }
            hole.end = begin;
            if (hole.begin == hole.end) {
                remove_hole(at);
            } else {
                ++at;
            }
        }
        return filled;
    }
    /// Drops holes before `low`, and the parts of holes before it.
    void drop_holes_below(std::uint32_t low) noexcept {
        while (hole_count > 0 && tcp::ahead(low, holes[0].begin) < 0) {
            if (tcp::ahead(low, holes[0].end) > 0) {
                holes[0].begin = low;
                return;
            }
            remove_hole(0);
        }
    }

private:
    [[nodiscard]] static bool is_before(const Range& a, const Range& b) noexcept {
        return tcp::ahead(b.begin, a.begin) < 0;
    }
    void insert_at(std::size_t at, const Range& hole) noexcept {
        std::copy_backward(holes.begin() + static_cast<std::ptrdiff_t>(at),
                           holes.begin() + hole_count, holes.begin() + hole_count + 1);
        holes[at] = hole;
        ++hole_count;
    }
    void remove_hole(std::size_t at) noexcept {
        std::copy(holes.begin() + static_cast<std::ptrdiff_t>(at) + 1, holes.begin() + hole_count,
                  holes.begin() + static_cast<std::ptrdiff_t>(at));
        --hole_count;
    }
};
static_assert(sizeof(TcpLossState) == 128 && std::is_trivially_copyable_v<TcpLossState>);

/// The TcpLossStates of one cache.
using TcpLossPool = StatePool<TcpLossState, TcpState::kNoLossState>;

}  // namespace tributary
