// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "daemon/pipeline/table_flows.hpp"
#include "flowcache/cache_scan.hpp"
#include "flowcache/deadlines.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/packet_selector.hpp"

namespace tributary {

/// Passes commands to one thread, one at a time, and returns each when it is done.
template <class Command>
class Mailbox {
public:
    /// @return  false: the command before is not done yet, and stays
    /// @thread  the sender, like take() and withdraw(); one at a time
    [[nodiscard]] bool post(const Command& command) {
        if (!is_done()) {
            return false;
        }
        command_ = command;
        // Pairs with the exchange in current(): the receiver sees the command.
        state_.store(State::posted, std::memory_order_release);
        return true;
    }
    /// @thread  the sender or the receiver
    [[nodiscard]] bool is_done() const noexcept {
        // Pairs with finish(): the sender sees the command as the receiver left it.
        return state_.load(std::memory_order_acquire) == State::none;
    }
    /// The posted command as its thread left it; the mailbox keeps no share of what the command
    /// owns. Call it only after is_done() was true.
    [[nodiscard]] Command take() noexcept { return std::exchange(command_, Command{}); }
    /// Takes the command back, and destroys it. @return  false: its thread has begun it, or is done
    bool withdraw() noexcept {
        State posted = State::posted;
        // Either this exchange or that of current() succeeds.
        const bool is_withdrawn = state_.compare_exchange_strong(posted, State::none);
        if (is_withdrawn) {
            command_ = Command{};
        }
        return is_withdrawn;
    }

    /// @return  nullptr: no command
    /// @thread  the receiver, like finish()
    /// @cost    one load while there is no command
    [[nodiscard]] Command* current() noexcept {
        State seen = state_.load(std::memory_order_relaxed);  // the exchange below orders
        if (seen == State::none) [[likely]] {
            return nullptr;
        }
        // Pairs with post(), and excludes withdraw().
        const bool is_ours =
            seen == State::taken || state_.compare_exchange_strong(seen, State::taken);
        return is_ours ? &command_ : nullptr;
    }
    void finish() noexcept {
        state_.store(State::none, std::memory_order_release);  // pairs with is_done()
    }

private:
    enum class State { none, posted, taken };

    alignas(64) std::atomic<State> state_{State::none};
    Command command_{};
};

/// Applies other timeouts to records from now on.
struct SetTimeouts {
    Timeouts timeouts;
    /// Of the queue; nullptr: its main table. Shared, because a thread that hangs may use it after
    /// the sender has stopped waiting. Input threads never free it.
    std::shared_ptr<TableFlows> table{};
};
/// Selects packets by another filter from now on; the former is not used any more.
struct SetFilter {
    PacketSelector* filter{};  ///< nullptr: all match
};
/// Calls other stages from now on; the former are not called any more.
struct SetStages {
    StageSpan stages;
    std::span<std::byte> holder_memory{};  ///< for a cache whose flows cannot be held yet
};
/// Ends some flows.
struct EndFlows {
    std::shared_ptr<TableFlows> table{};  ///< as of SetTimeouts
    CacheScan scan{};
    bool is_through = false;
};
/// Copies the records of some flows, one after the other.
struct CopyFlows {
    std::shared_ptr<TableFlows> table{};  ///< as of SetTimeouts
    CacheScan scan{};
    /// For `room` octets of records of the table's size. Shared, as the table is.
    std::shared_ptr<std::byte[]> copies;
    std::size_t room = 0;
    std::size_t records = 0;  ///< copied
    bool is_through = false;
};

/// The commands that an input thread carries out between two bursts. Each is short: the commands
/// for flows do a part, and are sent again until they are through.
using InputCommand = std::variant<SetFilter, SetStages, SetTimeouts, EndFlows, CopyFlows>;

using InputMailbox = Mailbox<InputCommand>;

}  // namespace tributary
