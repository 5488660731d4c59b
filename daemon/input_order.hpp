// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <variant>

#include "flowcache/cache_tour.hpp"
#include "flowcache/deadline.hpp"
#include "flowcache/packet_selector.hpp"

namespace tributary {

/// Records end by other timeouts from now on.
struct SetTimeouts {
    Timeouts timeouts;
};
/// Packets must match another filter from now on; the former one is not used any more then.
struct SetFilter {
    PacketSelector* filter;  ///< nullptr: all match
};
/// Ends some flows.
struct EndFlows {
    CacheTour tour;
    bool is_through = false;
};
/// Copies the records of some flows, one after the other.
struct CopyFlows {
    CacheTour tour{};
    /// For `room` octets of records of the queue's size. Shared, because a thread that hangs may
    /// write into it when nobody waits for it any more.
    std::shared_ptr<std::byte[]> copies;
    std::size_t room = 0;
    std::size_t records = 0;  ///< copied
    bool is_through = false;
};

/// What an input thread can be asked to do between two bursts. None takes it long: those for the
/// flows do a part of them, and are given again until they are through.
using InputOrder = std::variant<SetTimeouts, SetFilter, EndFlows, CopyFlows>;

/// Hands orders to one input thread, one at a time.
class OrderBox {
public:
    /// @return  false: the one before is not done yet, and stays
    /// @thread  one at a time, like is_done(), done() and withdraw()
    [[nodiscard]] bool post(const InputOrder& order) {
        if (!is_done()) {
            return false;
        }
        order_ = order;
        state_.store(State::posted, std::memory_order_release);
        return true;
    }
    [[nodiscard]] bool is_done() const noexcept {
        return state_.load(std::memory_order_acquire) == State::none;
    }
    /// The order that was posted, as the input thread left it; is_done() was true.
    [[nodiscard]] const InputOrder& done() const noexcept { return order_; }
    /// Takes the order back. @return  false: the input thread has begun with it, or is done
    bool withdraw() noexcept {
        State posted = State::posted;
        return state_.compare_exchange_strong(posted, State::none);
    }

    /// @return  nullptr: there is none
    /// @thread  the input thread, like finish()
    /// @cost    one load while there is none
    [[nodiscard]] InputOrder* current() noexcept {
        State seen = state_.load(std::memory_order_relaxed);
        if (seen == State::none) [[likely]] {
            return nullptr;
        }
        const bool is_ours =
            seen == State::taken || state_.compare_exchange_strong(seen, State::taken);
        return is_ours ? &order_ : nullptr;
    }
    void finish() noexcept { state_.store(State::none, std::memory_order_release); }

private:
    enum class State { none, posted, taken };

    alignas(64) std::atomic<State> state_{State::none};
    InputOrder order_{SetFilter{nullptr}};
};

}  // namespace tributary
