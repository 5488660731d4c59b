// SPDX-License-Identifier: Apache-2.0
#include "export/path_target.hpp"

#include <system_error>

namespace tributary {

namespace fs = std::filesystem;

fs::path target_of(fs::path path) {
    constexpr int kMostLinks = 40;  // the kernel's own limit
    std::error_code error;          // an unreadable link counts as no link
    path =
        fs::absolute(path, error);  // weakly_canonical() leaves a name relative that is not there
    if (!path.has_filename()) {
        path = path.parent_path();  // a directory's, with a slash behind it
    }
    for (int links = 0; links < kMostLinks && fs::is_symlink(path, error); ++links) {
        const fs::path next = fs::read_symlink(path, error);
        path = path.parent_path() / next;
    }
    const fs::path whole = fs::weakly_canonical(path, error);
    // If this user must not look, only the path is known.
    return error ? path.lexically_normal() : whole;
}

bool have_one_target(const std::string& a, const std::string& b) {
    std::error_code ignored;
    return a == b || fs::equivalent(a, b, ignored) || target_of(a) == target_of(b);
}

}  // namespace tributary
