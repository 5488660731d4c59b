// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "conf/config_error.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// A part of the configuration whose values must fit each other.
class Section {
public:
    Section(const YamlNode& root, std::string path) : root_(root), path_(std::move(path)) {}

    /// Refuses the key, saying `what` of it, unless it is good.
    void demand(const char* key, bool is_good, const std::string& what) const {
        if (!is_good) {
            const std::string path = path_ + "." + key;
            refuse(place_of(root_, path), path + what);
        }
    }

private:
    const YamlNode& root_;
    std::string path_;
};

}  // namespace tributary
