// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "daemon/base/signals.hpp"
#include "daemon/filter/packet_filter.hpp"

namespace tributary {

/// Compiles the filter of a run that cannot begin without it. Signals end the wait for a resolver.
///
/// @return  nullptr for an empty expression
/// @errors  StartupError: 69 for a host name without address, or without threads or memory; 78 if
///          libpcap refuses the expression with the present addresses; 128 + signal
/// @thread  main
[[nodiscard]] std::unique_ptr<PacketFilter> await_filter(const std::string& expression,
                                                         FilterLinks links, Signals& signals);

}  // namespace tributary
