// SPDX-License-Identifier: Apache-2.0
#include "daemon/manual/manual_page.hpp"

#include <cctype>
#include <sstream>

#include "conf/dump_config.hpp"

namespace tributary {
namespace {

/// @source  groff_char(7): characters that roff prints as others
std::string_view roff_character(char letter) {
    switch (letter) {
        case '\\':
            return "\\e";
        case '-':
            return "\\-";
        case '\'':
            return "\\(aq";
        case '`':
            return "\\(ga";
        case '^':
            return "\\(ha";
        case '~':
            return "\\(ti";
        case '"':
            return "\\(dq";  // allowed in a macro's argument
        case '|':
            return "|\\:";  // a line may end after one of many values
        default:
            return {};
    }
}

std::string bold(const std::string& text) { return "\\fB" + roff_text(text) + "\\fR"; }

std::string italic(const std::string& text) { return "\\fI" + roff_text(text) + "\\fR"; }

/// As typed: "--config FILE", "--read CAPTURE...".
std::string typed(const OptionReference& option) {
    std::string text;
    for (const std::string& name : option.names) {
        text += (text.empty() ? "" : ", ") + bold(name);
    }
    if (!option.value.empty()) {
        text += (text.empty() ? "" : " ") + italic(option.value);
    }
    return text + (option.takes_many ? "..." : "");
}

std::string synopsis(const CommandReference& command) {
    std::string text = bold(command.name);
    if (!command.groups.empty()) {
        text += " [" + italic("OPTIONS") + "]";
    }
    for (const OptionReference& argument : command.arguments) {
        text += " " + typed(argument);
    }
    return text;
}

void add_entries(const std::vector<OptionReference>& options, std::string& page) {
    for (const OptionReference& option : options) {
        page += ".TP\n" + typed(option) + "\n" + roff_text(option.help) + "\n";
    }
}

/// Every command has --help: the synopsis of the program lists it once.
bool is_help(const OptionReference& option) {
    return !option.names.empty() && option.names.back() == "--help";
}

void add_command(const CommandReference& command, std::string& page) {
    page += ".SS " + roff_text(command.name) + "\n" + roff_text(command.help) + ".\n";
    page += ".PP\n" + synopsis(command) + "\n";
    add_entries(command.arguments, page);
    for (const OptionGroup& group : command.groups) {
        if (!group.note.empty()) {
            page += ".PP\n" + roff_text(group.title + ", " + group.note) + ":\n";
        }
        std::vector<OptionReference> options = group.options;
        std::erase_if(options, is_help);
        add_entries(options, page);
    }
    for (const CommandReference& inner : command.commands) {
        add_command(inner, page);
    }
}

}  // namespace

std::string roff_text(std::string_view text) {
    std::string roff;
    for (const char letter : text) {
        const std::string_view escaped = roff_character(letter);
        if (letter == '.' && (roff.empty() || roff.back() == '\n')) {
            roff += "\\&";  // else it would be a request
        }
        roff += escaped.empty() ? std::string(1, letter) : std::string(escaped);
    }
    return roff;
}

std::string roff_paragraphs(std::string_view markdown) {
    std::istringstream lines{std::string(markdown)};
    std::string page;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) {
            page += ".PP\n";
            continue;
        }
        bool is_code = false;
        std::istringstream parts(line);
        for (std::string part; std::getline(parts, part, '`'); is_code = !is_code) {
            page += is_code ? bold(part) : roff_text(part);
        }
        page += '\n';
    }
    return page;
}

std::string roff_options(const CommandReference& program) {
    std::string page;
    for (const OptionGroup& group : program.groups) {
        page += ".SS " + roff_text(group.title) + "\n" + roff_text(group.note);
        add_entries(group.options, page);
    }
    return page;
}

std::string roff_commands(const CommandReference& program) {
    std::string page;
    for (const CommandReference& command : program.commands) {
        add_command(command, page);
    }
    return page;
}

std::string roff_exit_codes(std::span<const ExitCode> codes) {
    std::string page;
    for (const auto& [code, meaning] : codes) {
        page += ".TP\n" + bold(std::string(code)) + "\n";
        std::string sentence(meaning);
        sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning[0])));
        page += roff_text(sentence + ".") + "\n";
    }
    return page;
}

std::string roff_keys(const std::vector<Setting>& keys) {
    std::string page;
    std::string section;
    for (const Setting& key : keys) {
        const std::string here = section_of(key.path);
        if (here != section) {
            page += ".SS " + roff_text(here) + "\n";
            section = here;
        }
        page += ".TP\n" + bold(key.path.substr(here.size() + 1)) + "\n" + roff_text(key.help) +
                ".\n.br\nMust be " + roff_text(key.limits) + "; the default is " + bold(key.value) +
                ".\n";
    }
    return page;
}

}  // namespace tributary
