// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "daemon/pipeline/ledger.hpp"

namespace tributary {

/// Reports when the host's clock is set back by more than kFurthestAhead, and when that is over.
/// All queues follow the same clock.
///
/// @thread  main
class ClockWatch {
public:
    /// @param clock  the worst of all queues
    /// @return       the change since the last look, in one line; nullopt: none
    [[nodiscard]] std::optional<std::string> look(const ClockLedger& clock);

private:
    std::uint64_t times_set_back_ = 0;
    bool is_set_back_ = false;
};

}  // namespace tributary
