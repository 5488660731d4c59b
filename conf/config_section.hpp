// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// A part of the configuration whose values must fit each other.
class Section {
public:
    Section(const YamlNode& root, std::string path, Faults& faults)
        : root_(root), path_(std::move(path)), faults_(faults) {}

    /// Notes the key, saying `what` of it, unless it is good, or the section has values that could
    /// not be read.
    void demand(const char* key, bool is_good, const std::string& what) const {
        const std::string path = path_ + "." + key;
        if (!is_good && !faults_.has_unread_key(path_) && !faults_.is_unread(path)) {
            faults_.note(path, place_of(root_, path) + ": " + path + what);
        }
    }

private:
    const YamlNode& root_;
    std::string path_;
    Faults& faults_;
};

}  // namespace tributary
