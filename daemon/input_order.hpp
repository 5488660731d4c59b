// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <variant>

#include "flowcache/cache_tour.hpp"
#include "flowcache/deadline.hpp"
#include "flowcache/packet_selector.hpp"

namespace tributary {

/// Records end by other timeouts from now on; ScheduleFlows must follow.
struct SetTimeouts {
    Timeouts timeouts;
};
/// Packets must match another filter from now on; the former one is not used any more then.
struct SetFilter {
    PacketSelector* filter;  ///< nullptr: all match
};
/// Sees to the deadlines of some flows.
struct ScheduleFlows {
    CacheTour tour;
    bool is_through = false;
};
/// Ends some flows.
struct EndFlows {
    CacheTour tour;
    bool is_through = false;
};
/// Copies the records of some flows, one after the other.
struct CopyFlows {
    CacheTour tour;
    std::span<std::byte> room;  ///< for records of the queue's size
    std::size_t records = 0;    ///< copied
    bool is_through = false;
};

/// What an input thread can be asked to do between two bursts. None takes it long: those for the
/// flows do a part of them, and are given again until they are through.
using InputOrder = std::variant<SetTimeouts, SetFilter, ScheduleFlows, EndFlows, CopyFlows>;

/// Hands orders to one input thread, one at a time.
class OrderBox {
public:
    /// @return  false: the one before is not done yet, and stays
    /// @thread  one at a time, like is_done() and done()
    [[nodiscard]] bool post(const InputOrder& order) {
        if (!is_done()) {
            return false;
        }
        order_ = order;
        is_posted_.store(true, std::memory_order_release);
        return true;
    }
    [[nodiscard]] bool is_done() const noexcept {
        return !is_posted_.load(std::memory_order_acquire);
    }
    /// The order that was posted, as the input thread left it; is_done() was true.
    [[nodiscard]] const InputOrder& done() const noexcept { return order_; }

    /// @return  nullptr: there is none
    /// @thread  the input thread, like finish()
    /// @cost    one load
    [[nodiscard]] InputOrder* current() noexcept {
        return is_posted_.load(std::memory_order_acquire) ? &order_ : nullptr;
    }
    void finish() noexcept { is_posted_.store(false, std::memory_order_release); }

private:
    alignas(64) std::atomic<bool> is_posted_{false};
    InputOrder order_{SetFilter{nullptr}};
};

}  // namespace tributary
