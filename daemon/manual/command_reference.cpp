// SPDX-License-Identifier: Apache-2.0
#include "daemon/manual/command_reference.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

namespace tributary {
namespace {

/// CLI11 gives a value's type and its permitted words as "TEXT:{octets,packets}".
std::vector<std::string> words_of(const std::string& type) {
    const std::size_t open = type.find('{');
    const std::size_t close = type.find('}');
    if (open == std::string::npos || close == std::string::npos) {
        return {};
    }
    return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

/// CLI11 puts the check after a colon in the type; a name with a colon is an option_text.
std::string value_of(const CLI::Option& option) {
    if (option.get_positional()) {
        return option.get_name(true);
    }
    if (option.get_type_size() == 0) {
        return {};
    }
    const std::string type = option.get_type_name();
    return option.get_option_text().empty() ? type.substr(0, type.find(':'))
                                            : option.get_option_text();
}

OptionReference describe_option(const CLI::Option& option) {
    OptionReference reference{
        .names = {},
        .value = value_of(option),
        .takes_many = option.get_expected_max() > 1 && option.get_allow_extra_args(),
        .words = words_of(option.get_type_name()),
        .help = option.get_description()};
    for (const std::string& name : option.get_snames()) {
        reference.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        reference.names.push_back("--" + name);
    }
    return reference;
}

/// Options by their groups, in the order of --help; a group without a title is not shown.
void add_groups(const CLI::App& app, const std::string& title, CommandReference& reference) {
    for (const std::string& name : app.get_groups()) {
        const auto options = app.get_options([&](const CLI::Option* option) {
            // A group of options inherits its command's help option, which is listed there.
            const bool is_listed = !title.empty() && option == app.get_help_ptr();
            return option->get_group() == name && option->nonpositional() && !is_listed;
        });
        if (name.empty() || options.empty()) {
            continue;
        }
        OptionGroup group{.title = title.empty() ? name : title, .note = {}, .options = {}};
        if (!title.empty()) {
            group.note = app.get_description();
        }
        for (const CLI::Option* option : options) {
            group.options.push_back(describe_option(*option));
        }
        reference.groups.push_back(std::move(group));
    }
}

}  // namespace

CommandReference describe(const CLI::App& app, const std::string& parent) {
    CommandReference reference;
    reference.name = (parent.empty() ? "" : parent + " ") + app.get_name();
    reference.help = app.get_description();
    for (const CLI::Option* option :
         app.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
        reference.arguments.push_back(describe_option(*option));
    }
    add_groups(app, {}, reference);
    for (const CLI::App* inner : app.get_subcommands({})) {
        if (inner->get_name().empty()) {  // a group of options that belong together
            add_groups(*inner, inner->get_group(), reference);
        } else if (!inner->get_group().empty()) {
            reference.commands.push_back(describe(*inner, reference.name));
        }
    }
    return reference;
}

}  // namespace tributary
