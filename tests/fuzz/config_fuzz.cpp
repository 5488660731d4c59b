// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "conf/dump_config.hpp"
#include "conf/load_config.hpp"

// Input: the file, and after each NUL one --set.

using tributary::Config;
using tributary::ConfigError;
using tributary::ConfigUse;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// Any other exception leaves, and ends the run.
std::optional<Config> load(const std::string& text, const std::vector<std::string>& sets,
                           ConfigUse use) {
    std::istringstream stream(text);
    try {
        return tributary::load_config(stream, "fuzz.yaml", sets, use).config;
    } catch (const ConfigError& error) {
        const std::string message = error.what();
        std::istringstream lines(message);
        for (std::string line; std::getline(lines, line);) {
            require(line.find(": ") != std::string::npos);
        }
        return std::nullopt;
    }
}

/// What is accepted is dumped, and the dump means the same.
void check(const std::string& text, const std::vector<std::string>& sets, ConfigUse use) {
    const std::optional<Config> config = load(text, sets, use);
    if (!config) {
        return;
    }
    const std::string dump = tributary::dump_config(*config);
    const std::optional<Config> again = load(dump, {}, use);
    require(again && tributary::dump_config(*again) == dump);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::istringstream input(std::string(reinterpret_cast<const char*>(data), size));
    std::string text;
    std::getline(input, text, '\0');
    std::vector<std::string> sets;
    for (std::string set; std::getline(input, set, '\0');) {
        sets.push_back(set);
    }
    check(text, sets, ConfigUse::probe);
    check(text, sets, ConfigUse::offline);
    check(text, sets, ConfigUse::preparse_device);
    check(text, sets, ConfigUse::preparse_captures);
    return 0;
}
