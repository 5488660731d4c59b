// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace tributary {

/// A look at a running tributaryd, as its control socket answers.
struct TopLook {             // NOLINT(bugprone-exception-escape): json's moves throw nothing
    nlohmann::json stats;    ///< the ledger
    nlohmann::json figures;  ///< rings, threads, links, limits
    double at{};             ///< seconds since whenever
};

/// What happened between two looks, per second, as a screen of text: packets, flows and records per
/// queue, how busy the threads are, the inputs' links, what was lost and why, and the collectors.
///
/// @errors  nlohmann::json::exception: an answer is not what this program knows
/// @thread  any; pure
[[nodiscard]] std::string top_screen(const TopLook& before, const TopLook& now);

/// A number with three digits or so, and k, M, G or T behind it.
[[nodiscard]] std::string scaled(double number);

}  // namespace tributary
