// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <variant>

#include "daemon/pipeline/order_box.hpp"
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
    PacketSelector* filter{};  ///< nullptr: all match
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
using InputOrder = std::variant<SetFilter, SetTimeouts, EndFlows, CopyFlows>;

using InputOrderBox = OrderBox<InputOrder>;

}  // namespace tributary
