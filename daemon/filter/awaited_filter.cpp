// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter/awaited_filter.hpp"

#include <sysexits.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "daemon/base/startup_error.hpp"
#include "daemon/filter/filter_compilation.hpp"

namespace tributary {
namespace {

std::unique_ptr<PacketFilter> filter_of(const std::string& expression,
                                        FilterCompilation::Outcome outcome) {
    if (outcome.filter == nullptr) {
        throw StartupError(outcome.may_heal ? EX_UNAVAILABLE : EX_CONFIG,
                           "filter " + expression + ": " + outcome.fault);
    }
    return std::move(outcome.filter);
}

}  // namespace

std::unique_ptr<PacketFilter> await_filter(const std::string& expression, FilterLinks links,
                                           Signals& signals) {
    if (expression.empty()) {
        return nullptr;
    }
    FilterCompilation compilation(expression, links);
    for (;;) {
        if (std::optional<FilterCompilation::Outcome> outcome = compilation.poll()) {
            return filter_of(expression, std::move(*outcome));
        }
        const std::optional<int> signal = signals.wait_for(std::chrono::milliseconds(1));
        if (signal && *signal != SIGUSR1) {
            throw StartupError(128 + *signal, std::string("SIG") + ::sigabbrev_np(*signal) +
                                                  ": stopping, before the filter was ready");
        }
    }
}

}  // namespace tributary
