// SPDX-License-Identifier: Apache-2.0
#include "daemon/manual/bash_completion.hpp"

#include <map>
#include <string_view>

namespace tributary {
namespace {

// The words before the cursor give the subcommand, the last option, and the number of its values.
// bash splits --option=VALUE at the equals sign.
constexpr std::string_view kHead = R"(# SPDX-License-Identifier: Apache-2.0
# Bash completion, made by print_manual from the program's own options.
# shellcheck shell=bash
_@program@() {
    local cur=${COMP_WORDS[COMP_CWORD]} command="" option="" word last="" values=0 kind="" words names argument=names
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        last=$word
        case $word in
            =) ;;
            -?*) option=$word values=0 ;;
            *)
                values=$((values + 1))
                case "$command $word" in
@commands@
                esac
                ;;
        esac
    done
    if [[ $cur == = || $last == = ]]; then
        [[ $values == 0 ]] || return 0  # the value of a KEY=VALUE is free
        cur=${cur#=}
    fi
    case "$command $option $values" in
@options@
    esac
    case $command in
@names@
    esac
    [[ $cur != -?* ]] || kind=names
    case ${kind:-$argument} in
        files)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        directories)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$cur")
            ;;
        keys)
            compopt -o nospace 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -W '@keys@' -- "$cur")
            ;;
        words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
        names) mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur") ;;
    esac
}
complete -F _@program@ @program@
)";

void replace_line(std::string& script, const std::string& place, std::string lines) {
    if (lines.ends_with('\n')) {
        lines.pop_back();
    }
    for (std::size_t at = script.find(place); at != std::string::npos; at = script.find(place)) {
        script.replace(at, place.size(), lines);
    }
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

/// The script's kind for a value of this name.
std::string kind_of(const std::string& value) {
    static const std::map<std::string, std::string> kinds{{"FILE", "files"},
                                                          {"CAPTURE", "files"},
                                                          {"DIRECTORY", "directories"},
                                                          {"KEY=VALUE", "keys"}};
    const auto found = kinds.find(value);
    return found == kinds.end() ? "free" : found->second;
}

/// The words of a command after the program's name, each with a space before it.
std::string path_of(const CommandReference& command) {
    const std::size_t space = command.name.find(' ');
    return space == std::string::npos ? "" : command.name.substr(space);
}

std::string option_cases(const CommandReference& command, const OptionReference& option) {
    std::string cases;
    if (option.value.empty()) {
        return cases;
    }
    for (const std::string& name : option.names) {
        cases += "        \"" + path_of(command) + " " + name + " \"" +
                 (option.takes_many ? "*" : "0") + ") kind=";
        cases += option.words.empty() ? kind_of(option.value)
                                      : "words words=\"" + joined(option.words) + "\"";
        cases += " ;;\n";
    }
    return cases;
}

struct Cases {
    std::string commands;
    std::string options;
    std::string names;
};

void add_cases(const CommandReference& command, Cases& cases) {
    std::vector<std::string> names;
    for (const CommandReference& inner : command.commands) {
        const std::string path = path_of(inner);
        cases.commands += "                    \"" + path;
        cases.commands += "\") command=\"" + path + "\" ;;\n";
        names.push_back(path.substr(path.rfind(' ') + 1));
        add_cases(inner, cases);
    }
    for (const OptionGroup& group : command.groups) {
        for (const OptionReference& option : group.options) {
            cases.options += option_cases(command, option);
            names.insert(names.end(), option.names.begin(), option.names.end());
        }
    }
    const std::string argument =
        command.arguments.empty() ? "" : " argument=" + kind_of(command.arguments.front().value);
    cases.names += "        \"" + path_of(command) + "\") names=\"" + joined(names) + "\"" +
                   argument + " ;;\n";
}

/// inputs[].queues becomes inputs.0.queues=
std::string key_words(const std::vector<Setting>& keys) {
    std::vector<std::string> words;
    for (const Setting& key : keys) {
        std::string word = key.path;
        for (std::size_t at = word.find("[]"); at != std::string::npos; at = word.find("[]")) {
            word.replace(at, 2, ".0");
        }
        words.push_back(word + "=");
    }
    return joined(words);
}

}  // namespace

std::string bash_completion(const CommandReference& program, const std::vector<Setting>& keys) {
    Cases cases;
    add_cases(program, cases);
    std::string script(kHead);
    // A pattern without a match keeps an otherwise empty case well-formed.
    replace_line(script, "@commands@",
                 cases.commands.empty() ? "                    *) ;;" : cases.commands);
    replace_line(script, "@options@", cases.options);
    replace_line(script, "@names@", cases.names);
    replace_line(script, "@keys@", key_words(keys));
    replace_line(script, "@program@", program.name);
    return script;
}

}  // namespace tributary
