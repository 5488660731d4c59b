// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/record/prefetch.hpp"

namespace tributary {

/// The states of one cache that few flows need. Flows take them and give them back; when none is
/// left a flow goes without, and the caller counts that.
///
/// @tparam State  with a std::uint32_t `next_free`, which is the pool's while the state is free;
///                whole cache lines
/// @tparam kNone  the number that names no state
/// @thread  the thread that owns the cache; nothing allocates
template <class State, std::uint32_t kNone>
class StatePool {
public:
    /// @param memory  outlives this; of at most kNone
    explicit StatePool(std::span<State> memory) noexcept : states_(memory) {}

    /// @return  number of a state that is all zeros, or kNone: none is left
    [[nodiscard]] std::uint32_t take() noexcept {
        std::uint32_t taken = first_free_;
        if (taken != kNone) {
            first_free_ = states_[taken].next_free;
        } else if (used_ < states_.size()) {
            taken = used_++;
        } else {
            return kNone;
        }
        states_[taken] = {};
        return taken;
    }
    void give_back(std::uint32_t state) noexcept {
        states_[state].next_free = first_free_;
        first_free_ = state;
    }
    /// @param state  any number; one that was never taken is not fetched
    [[gnu::always_inline]] void prefetch(std::uint32_t state) const noexcept {
        constexpr std::size_t kLine = 64;
        static_assert(sizeof(State) % kLine == 0);
        if (state < used_) [[unlikely]] {
            const auto* const bytes = reinterpret_cast<const std::byte*>(&states_[state]);
            for (std::size_t line = 0; line < sizeof(State); line += kLine) {
                prefetch_to_write(bytes + line);
            }
        }
    }
    [[nodiscard]] State& operator[](std::uint32_t state) const noexcept { return states_[state]; }

private:
    std::span<State> states_;
    std::uint32_t used_ = 0;  ///< from here on they were never taken
    std::uint32_t first_free_ = kNone;
};

}  // namespace tributary
