// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/filter/packet_filter.hpp"

namespace tributary {

/// Compiles a packet filter in a thread of its own, because a resolver may take minutes and libpcap
/// seconds. The thread cannot be stopped: the destructor leaves it running.
///
/// @thread  one, which never waits
class FilterCompilation {
public:
    struct Outcome {
        std::unique_ptr<PacketFilter> filter;  ///< nullptr: failed, for this reason
        std::string fault;
        bool may_heal = false;  ///< the cause is names, threads or memory, not the expression
    };

    /// Begins. Without a thread or memory for it, the outcome is a failure at once.
    FilterCompilation(const std::string& expression, FilterLinks links) noexcept;

    /// Compiles a filter, and waits for it.
    ///
    /// @param goes_on  called each millisecond until the filter is there; false: the caller gives
    /// up
    /// @return         nullptr: goes_on() was false
    /// @errors         PacketFilterError
    /// @thread         one that may wait
    [[nodiscard]] static std::unique_ptr<PacketFilter> await(const std::string& expression,
                                                             FilterLinks links,
                                                             const std::function<bool()>& goes_on);

    /// Whether it has asked a resolver, which may take long.
    [[nodiscard]] bool asks_resolver() const noexcept;
    /// The outcome, once; nullopt: not known yet.
    [[nodiscard]] std::optional<Outcome> poll();

private:
    struct Work;
    std::shared_ptr<Work> work_;     ///< shared with its thread, which may outlive this
    std::optional<Outcome> failed_;  ///< no thread
};

}  // namespace tributary
