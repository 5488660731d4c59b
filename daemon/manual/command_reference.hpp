// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// An option or a positional argument, as a reader of the manual sees it.
struct OptionReference {
    std::vector<std::string> names;  ///< with their dashes; none of a positional argument
    std::string value;               ///< such as FILE; empty: it has none
    bool takes_many = false;         ///< several values, one behind the other
    std::vector<std::string> words;  ///< the only good values; empty: any
    std::string help;
};

struct OptionGroup {
    std::string title;
    std::string note;  ///< of the group as a whole; may be empty
    std::vector<OptionReference> options;
};

/// A program or a subcommand, and all that can be said to it.
struct CommandReference {
    std::string name;  ///< as it is typed, with the program's: "tributary flows"
    std::string help;
    std::vector<OptionReference> arguments;  ///< positional
    std::vector<OptionGroup> groups;
    std::vector<CommandReference> commands;
};

/// What a command line takes: the one source of manual pages and completion.
///
/// @param parent  what is typed before the app's name; empty for a program
/// @thread        any
[[nodiscard]] CommandReference describe(const CLI::App& app, const std::string& parent = {});

}  // namespace tributary
