// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/config_error.hpp"

namespace tributary {

/// Collects the faults of a configuration, to report all at once.
class Faults {
public:
    /// Runs a check, and keeps the message of its ConfigError.
    ///
    /// @param path   of the checked value, dotted; only the first fault of a path is noted
    /// @param check  throws ConfigError
    template <class Check>
    void in(const std::string& path, const Check& check) {
        try {
            check();
        } catch (const ConfigError& error) {
            note(path, error.what());
        }
    }
    /// The same for values together. It is left out if one of them could not be read, because a
    /// substitute stands in its place.
    template <class Check>
    void among(const std::string& path, const Check& check) {
        if (!is_unread(path)) {
            in(path, check);
        }
    }
    void note(const std::string& path, std::string_view line) {
        if (std::ranges::find(noted_, path, &Fault::path) == noted_.end()) {
            noted_.push_back({.path = path, .line = std::string(line)});
        }
    }
    /// Ends the reading of values: later faults are of values together.
    void end_of_reading() noexcept { unread_ = noted_.size(); }
    /// Whether a value at this path, in it or around it could not be read.
    [[nodiscard]] bool is_unread(std::string_view path) const {
        return std::any_of(noted_.begin(), noted_.begin() + static_cast<std::ptrdiff_t>(unread_),
                           [path](const Fault& fault) {
                               return is_within(fault.path, path) || is_within(path, fault.path);
                           });
    }
    /// Whether a key of this section itself, or a section around it, could not be read.
    [[nodiscard]] bool has_unread_key(std::string_view section) const {
        return std::any_of(noted_.begin(), noted_.begin() + static_cast<std::ptrdiff_t>(unread_),
                           [section](const Fault& fault) {
                               const std::string_view parent =
                                   std::string_view(fault.path).substr(0, fault.path.rfind('.'));
                               return is_within(section, fault.path) || parent == section;
                           });
    }
    [[nodiscard]] bool are_none() const noexcept { return noted_.empty(); }
    /// @errors  ConfigError with a line for each fault, if any
    void raise() const {
        std::string lines;
        for (const Fault& fault : noted_) {
            lines += (lines.empty() ? "" : "\n") + fault.line;
        }
        if (!lines.empty()) {
            throw ConfigError(lines);
        }
    }

private:
    struct Fault {
        std::string path;
        std::string line;
    };

    /// Whether `inner` is `outer`, or a path below it.
    static bool is_within(std::string_view inner, std::string_view outer) {
        return inner.starts_with(outer) &&
               (inner.size() == outer.size() || outer.empty() || inner[outer.size()] == '.');
    }

    std::vector<Fault> noted_;
    std::size_t unread_ = 0;
};

}  // namespace tributary
