// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/pipeline/extract_ring.hpp"
#include "daemon/trigger/flow_identity.hpp"
#include "daemon/trigger/watched_table.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// That a trigger has fired.
struct TriggerEvent {
    std::size_t trigger{};  ///< ArmedTrigger::index
    std::uint32_t file{};   ///< its number, from 1
    /// Whether the end of the record made it match.
    bool is_at_end{};
    Timestamp at{};  ///< of the packet that made the record match; of the record's last one
    FlowIdentity flow{};
};
static_assert(std::is_trivially_copyable_v<TriggerEvent> && sizeof(TriggerEvent) % 8 == 0);

/// What an input thread does when there is no room for an event.
enum class WhenEventsFull : std::uint8_t {
    refuse,  ///< live: no packet waits
    wait,    ///< of captures: nothing is lost
};

/// The events of one cache, on their way from the input thread to the thread that has packets
/// written. Both share it: the cache of a table may go before its last event is read.
class TriggerEvents {
public:
    /// Events that are not read yet.
    static constexpr std::uint32_t kRoom = 255;

    /// @errors  std::bad_alloc
    TriggerEvents(std::shared_ptr<const WatchedTable> table, WhenEventsFull when_full)
        : table_(std::move(table)),
          when_full_(when_full),
          memory_(ExtractRing::bytes_needed(sizeof(TriggerEvent), kRoom + 1), {}, PageUse::offline),
          ring_(memory_.bytes().data(), sizeof(TriggerEvent), kRoom + 1) {}

    [[nodiscard]] const std::shared_ptr<const WatchedTable>& table() const noexcept {
        return table_;
    }
    /// @return  false: there is no room
    /// @thread  the input thread
    [[nodiscard]] bool push(const TriggerEvent& event) noexcept {
        constexpr std::chrono::milliseconds kPause{1};
        bool is_pushed = try_push(event);
        while (!is_pushed && when_full_ == WhenEventsFull::wait) {
            std::this_thread::sleep_for(kPause);
            is_pushed = try_push(event);
        }
        return is_pushed;
    }
    /// Takes the oldest event. @return  false: there is none
    /// @thread  one other
    [[nodiscard]] bool pop(TriggerEvent& event) noexcept {
        const ExtractRing::Slots slots = ring_.look(1);
        if (slots.count() == 0) {
            return false;
        }
        std::memcpy(&event, slots[0], sizeof event);
        ring_.end_look(1);
        return true;
    }

private:
    [[nodiscard]] bool try_push(const TriggerEvent& event) noexcept {
        return ring_.push(1, [&event](std::size_t /*index*/, std::byte* to) {
            std::memcpy(to, &event, sizeof event);
        }) == 1;
    }

    std::shared_ptr<const WatchedTable> table_;
    WhenEventsFull when_full_;
    NumaMemory memory_;
    ExtractRing ring_;
};

}  // namespace tributary
