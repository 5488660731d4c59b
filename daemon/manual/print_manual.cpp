// SPDX-License-Identifier: Apache-2.0
// Writes texts made from the programs' own tables to standard output:
//
//   print_manual page TEMPLATE       a manual page: docs/man/*.in with options and keys
//
//   print_manual completion PROGRAM  the bash completion of tributary or tributaryd
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>

#include "conf/dump_config.hpp"
#include "daemon/base/exit_codes.hpp"
#include "daemon/cli/tributary_app.hpp"
#include "daemon/cli/tributaryd_app.hpp"
#include "daemon/manual/bash_completion.hpp"
#include "daemon/manual/command_reference.hpp"
#include "daemon/manual/manual_page.hpp"

namespace {

using namespace tributary;

CommandReference describe_tributary() {
    CLI::App app;
    TributaryArguments arguments;
    define_tributary(app, arguments);
    return describe(app);
}

CommandReference describe_tributaryd() {
    CLI::App app;
    TributarydWords words;
    define_tributaryd(app, words);
    return describe(app);
}

/// A template's line with one of these words is replaced by the text made for it.
const std::map<std::string, std::function<std::string()>>& makers() {
    static const std::map<std::string, std::function<std::string()>> all{
        {"@tributary-options@", [] { return roff_options(describe_tributary()); }},
        {"@tributary-commands@", [] { return roff_commands(describe_tributary()); }},
        {"@tributaryd-options@", [] { return roff_options(describe_tributaryd()); }},
        {"@tributary-exit-codes@", [] { return roff_exit_codes(tributary_exit_codes()); }},
        {"@tributaryd-exit-codes@", [] { return roff_exit_codes(tributaryd_exit_codes()); }},
        {"@configuration@", [] { return roff_paragraphs(key_introduction()); }},
        {"@configuration-keys@", [] { return roff_keys(documented_keys()); }}};
    return all;
}

std::string page(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    for (std::string line; std::getline(file, line);) {
        const auto maker = makers().find(line);
        if (line.starts_with('@') && maker == makers().end()) {
            throw std::runtime_error("nothing is made for " + line);
        }
        text += maker == makers().end() ? line + "\n" : maker->second();
    }
    if (text.empty()) {
        throw std::runtime_error(path + " cannot be read, or is empty");
    }
    const std::string place = "@version@";
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place)) {
        text.replace(at, place.size(), TRIBUTARY_VERSION);
    }
    return text;
}

std::string made(std::span<char* const> words) {
    const std::string what = words.size() == 3 ? words[1] : "";
    if (what == "page") {
        return page(words[2]);
    }
    if (what == "completion") {
        const bool is_daemon = std::string(words[2]) == "tributaryd";
        return bash_completion(is_daemon ? describe_tributaryd() : describe_tributary(),
                               documented_keys());
    }
    throw std::runtime_error("usage: print_manual page TEMPLATE | completion PROGRAM");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        std::cout << made({argv, static_cast<std::size_t>(argc)}) << std::flush;
        return std::cout ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "print_manual: %s\n", error.what());
        return 1;
    }
}
