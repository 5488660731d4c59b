// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace tributary {

/// Hands orders to one thread, one at a time, and back when they are done.
template <class Order>
class OrderBox {
public:
    /// @return  false: the one before is not done yet, and stays
    /// @thread  one at a time, like is_done(), done() and withdraw()
    [[nodiscard]] bool post(const Order& order) {
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
    /// The order that was posted, as its thread left it; is_done() was true.
    [[nodiscard]] const Order& done() const noexcept { return order_; }
    /// Takes the order back. @return  false: its thread has begun with it, or is done
    bool withdraw() noexcept {
        State posted = State::posted;
        return state_.compare_exchange_strong(posted, State::none);
    }

    /// @return  nullptr: there is none
    /// @thread  the one that gets the orders, like finish()
    /// @cost    one load while there is none
    [[nodiscard]] Order* current() noexcept {
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
    Order order_{};
};

}  // namespace tributary
