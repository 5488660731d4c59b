// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tributary {

/// The arguments of `top`, and the socket of its tributaryd.
struct TopArguments {
    std::string socket;
    std::chrono::seconds timeout{};   ///< longest silence of tributaryd
    std::chrono::seconds interval{};  ///< between two looks
    std::uint32_t count = 0;          ///< looks; 0: no limit
    std::uint32_t flows = 0;          ///< most flows to show; 0: none are requested
};

/// Watches a running tributaryd: on a terminal with a screen and keys, also across restarts of the
/// probe; elsewhere with a page of text for each look, until the probe does not answer any more.
///
/// @return  exit code; on a terminal, a signal that ends the process does so after the terminal is
///          restored
/// @errors  ControlFailure, nlohmann::json::exception: as for any command; on a terminal only at
///          the first look
/// @thread  main
[[nodiscard]] int watch_probe(const TopArguments& arguments);

}  // namespace tributary
