// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/config.hpp"
#include "conf/key.hpp"

namespace tributary {

/// A configuration as YAML with every key; load_config() reads the same configuration from it.
[[nodiscard]] std::string dump_config(const Config& config);

/// The introduction to all keys: paragraphs in Markdown, with code in backticks.
[[nodiscard]] std::string_view key_introduction();

/// Every key with its default, by its general path, such as inputs[].queues.
[[nodiscard]] std::vector<Setting> documented_keys();

/// The section of a key: inputs[] of inputs[].queues.
[[nodiscard]] std::string section_of(const std::string& path);

/// A configuration that the reference shows whole.
struct ExampleFile {
    std::string name;  ///< its path in the source tree
    std::string text;  ///< begins with the licence line, which the reference leaves out
};

/// The page that explains every key (docs/configuration.md), in Markdown.
/// @param examples  shown at its beginning, in this order
[[nodiscard]] std::string key_reference(const std::vector<ExampleFile>& examples);

}  // namespace tributary
