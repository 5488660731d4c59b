// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "flowcache/input/packet_selector.hpp"

namespace tributary {

/// A filter that the packets of a stage must pass. All queues share it, while another thread may
/// put a filter in: the host names of a filter may get their addresses late.
class FilterSlot {
public:
    /// @param filter  nullptr: it is not compiled yet, and nothing can be decided
    explicit FilterSlot(PacketSelector* filter = nullptr) noexcept : filter_(filter) {}

    /// @param filter  outlives the slot, as does the former one: a thread may still be in it
    /// @thread        main
    void set(PacketSelector* filter) noexcept { filter_.store(filter, std::memory_order_release); }
    /// @thread  any
    [[nodiscard]] PacketSelector* get() const noexcept {
        return filter_.load(std::memory_order_acquire);  // pairs with set(): the filter is whole
    }

private:
    std::atomic<PacketSelector*> filter_;
};

}  // namespace tributary
