// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "daemon/cli/command_line.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// The variables that CLI11 fills for tributaryd's command line.
struct TributarydWords {
    CommandLine command_line;
    bool is_check = false;
    bool is_dump = false;
    bool is_version = false;
    std::uint32_t stats_interval = 60;
    std::string log_level;
};

/// Gives an empty app the name, description and options of tributaryd, from which its help, its
/// manual page and its completion are made.
///
/// @param words  filled when the command line is parsed; outlives the app
/// @thread       any
void define_tributaryd(CLI::App& app, TributarydWords& words);

}  // namespace tributary
