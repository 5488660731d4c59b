// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/filter/packet_filter.hpp"

namespace tributary {

/// A packet filter that is compiled in a thread of its own, because a resolver may take minutes and
/// libpcap seconds. The thread cannot be stopped: who wants its outcome no more leaves it behind.
///
/// @thread  one, which never waits
class FilterCompilation {
public:
    struct Outcome {
        std::unique_ptr<PacketFilter> filter;  ///< nullptr: there is none, for this reason
        std::string fault;
        bool may_heal = false;  ///< what failed are names, threads or memory, not the expression
    };

    /// Begins. Without a thread or memory for it, the outcome tells that at once.
    FilterCompilation(const std::string& expression, FilterLinks links) noexcept;

    /// Whether a resolver has been asked, so that it may take long.
    [[nodiscard]] bool asks_resolver() const noexcept;
    /// The outcome, once; nothing while it is not known.
    [[nodiscard]] std::optional<Outcome> poll();

private:
    struct Work;
    std::shared_ptr<Work> work_;     ///< shared with its thread, which may outlive us
    std::optional<Outcome> failed_;  ///< there is no thread
};

}  // namespace tributary
