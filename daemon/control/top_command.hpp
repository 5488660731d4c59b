// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tributary {

/// What the command line says to `top`, and where its tributaryd listens.
struct TopArguments {
    std::string socket;
    std::chrono::seconds timeout{};   ///< that tributaryd may be silent
    std::chrono::seconds interval{};  ///< between two looks
    std::uint32_t count = 0;          ///< looks; 0: until it is ended
    std::uint32_t flows = 0;          ///< that are shown at most; 0: none are asked for
};

/// Watches a running tributaryd: on a terminal as a screen that obeys keys and outlives the probe,
/// elsewhere as a page of text for each look, until the probe cannot be asked any more.
///
/// @return  exit code; a signal that ends the process on a terminal does so when that is as before
/// @errors  ControlFailure, nlohmann::json::exception: as for any command; on a terminal only at
///          the first look
/// @thread  main
[[nodiscard]] int watch_probe(const TopArguments& arguments);

}  // namespace tributary
