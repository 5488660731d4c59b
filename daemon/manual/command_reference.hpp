// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// An option or a positional argument, for the manual.
struct OptionReference {
    std::vector<std::string> names;  ///< with their dashes; empty for a positional argument
    std::string value;               ///< such as FILE; empty: none
    bool takes_many = false;         ///< several values, one after the other
    std::vector<std::string> words;  ///< the only valid values; empty: any
    std::string help;
};

struct OptionGroup {
    std::string title;
    std::string note;  ///< of the group as a whole; may be empty
    std::vector<OptionReference> options;
};

/// A program or a subcommand, with its arguments and options.
struct CommandReference {
    std::string name;  ///< as typed, with the program's: "tributary flows"
    std::string help;
    std::vector<OptionReference> arguments;  ///< positional
    std::vector<OptionGroup> groups;
    std::vector<CommandReference> commands;
};

/// Describes a command line: the one source of manual pages and completion.
///
/// @param parent  the words before the app's name; empty for a program
/// @thread        any
[[nodiscard]] CommandReference describe(const CLI::App& app, const std::string& parent = {});

}  // namespace tributary
