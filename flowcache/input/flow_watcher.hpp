// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "flowcache/keyed_packet.hpp"
#include "flowcache/running_flows.hpp"

namespace tributary {

/// Looks at the flows of one cache after each packet: of a queue's main cache, or of its part of a
/// declared table.
///
/// @thread  the thread that owns the cache, but for the destructor. Nothing may allocate, lock,
///          throw, log or make a system call
class FlowWatcher {
public:
    FlowWatcher() = default;
    FlowWatcher(const FlowWatcher&) = delete;
    FlowWatcher& operator=(const FlowWatcher&) = delete;
    virtual ~FlowWatcher() = default;

    /// Called before the first packet. It may add one holder.
    ///
    /// @param flows  valid until detach()
    virtual void attach(RunningFlows& flows) noexcept = 0;
    /// Called after the last packet. Its holder is removed, and gets no further notice.
    virtual void detach() noexcept = 0;
    /// Called when a packet was accounted, and none behind it.
    virtual void on_packet(const KeyedPacket& packet) noexcept = 0;
};

/// Accounts packets in a cache, and shows each to a watcher.
///
/// @param watcher  nullptr: there is none
template <class Cache, class Sink>
void account_watched(Cache& cache, std::span<KeyedPacket> packets, Sink& sink,
                     FlowWatcher* watcher) noexcept {
    if (watcher == nullptr) [[likely]] {
        cache.account(packets, sink);
        return;
    }
    cache.account_each(packets, sink,
                       [watcher](const KeyedPacket& packet) { watcher->on_packet(packet); });
}

}  // namespace tributary
