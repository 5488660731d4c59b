// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "daemon/base/signals.hpp"
#include "daemon/filter/packet_filter.hpp"

namespace tributary {

/// The filter of a run that cannot begin without it. Signals end the wait for a resolver.
///
/// @return  nullptr for an empty expression
/// @errors  StartupError: 69 for a host name without address, and where threads or memory are
///          missing; 78 where libpcap refuses the expression with the addresses of now; 128 and the
///          number of a signal
/// @thread  main
[[nodiscard]] std::unique_ptr<PacketFilter> await_filter(const std::string& expression,
                                                         FilterLinks links, Signals& signals);

}  // namespace tributary
