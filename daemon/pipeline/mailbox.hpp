// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <variant>

#include "flowcache/cache_scan.hpp"
#include "flowcache/deadlines.hpp"
#include "flowcache/packet_selector.hpp"

namespace tributary {

/// Hands commands to one thread, one at a time, and back when they are done.
template <class Command>
class Mailbox {
public:
    /// @return  false: the one before is not done yet, and stays
    /// @thread  one at a time, like is_done(), done() and withdraw()
    [[nodiscard]] bool post(const Command& command) {
        if (!is_done()) {
            return false;
        }
        command_ = command;
        state_.store(State::posted, std::memory_order_release);
        return true;
    }
    [[nodiscard]] bool is_done() const noexcept {
        return state_.load(std::memory_order_acquire) == State::none;
    }
    /// The command that was posted, as its thread left it; is_done() was true.
    [[nodiscard]] const Command& done() const noexcept { return command_; }
    /// Takes the command back. @return  false: its thread has begun with it, or is done
    bool withdraw() noexcept {
        State posted = State::posted;
        return state_.compare_exchange_strong(posted, State::none);
    }

    /// @return  nullptr: there is none
    /// @thread  the one that gets the commands, like finish()
    /// @cost    one load while there is none
    [[nodiscard]] Command* current() noexcept {
        State seen = state_.load(std::memory_order_relaxed);
        if (seen == State::none) [[likely]] {
            return nullptr;
        }
        const bool is_ours =
            seen == State::taken || state_.compare_exchange_strong(seen, State::taken);
        return is_ours ? &command_ : nullptr;
    }
    void finish() noexcept { state_.store(State::none, std::memory_order_release); }

private:
    enum class State { none, posted, taken };

    alignas(64) std::atomic<State> state_{State::none};
    Command command_{};
};

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
    CacheScan scan;
    bool is_through = false;
};
/// Copies the records of some flows, one after the other.
struct CopyFlows {
    CacheScan scan{};
    /// For `room` octets of records of the queue's size. Shared, because a thread that hangs may
    /// write into it when nobody waits for it any more.
    std::shared_ptr<std::byte[]> copies;
    std::size_t room = 0;
    std::size_t records = 0;  ///< copied
    bool is_through = false;
};

/// What an input thread can be asked to do between two bursts. None takes it long: those for the
/// flows do a part of them, and are given again until they are through.
using InputCommand = std::variant<SetFilter, SetTimeouts, EndFlows, CopyFlows>;

using InputMailbox = Mailbox<InputCommand>;

}  // namespace tributary
