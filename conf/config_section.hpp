// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// A section of the configuration, for checks of its values together.
class Section {
public:
    Section(const YamlNode& root, std::string path, Faults& faults)
        : root_(root), path_(std::move(path)), faults_(faults) {}

    /// Notes a fault of the key, with the text `what`, unless it is good or the section has
    /// unreadable values.
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
