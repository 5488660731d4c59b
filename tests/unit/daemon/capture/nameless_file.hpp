// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace tributary::test {

/// A file with a path, but in no folder: regular (a memory file) or a pipe.
class NamelessFile {
public:
    enum class Kind { regular, pipe };

    explicit NamelessFile(const std::vector<std::byte>& content, Kind kind = Kind::regular) {
        std::array<int, 2> ends{-1, -1};  // to read from, to write to
        int opened = -1;
        if (kind == Kind::pipe) {
            opened = ::pipe(ends.data());
        } else {
            ends[0] = ::memfd_create("capture", MFD_CLOEXEC);
            ends[1] = ::dup(ends[0]);
            opened = ends[1];
        }
        REQUIRE(opened >= 0);
        REQUIRE(::write(ends[1], content.data(), content.size()) ==
                static_cast<ssize_t>(content.size()));
        ::close(ends[1]);
        descriptor_ = ends[0];
    }
    NamelessFile(const NamelessFile&) = delete;
    NamelessFile& operator=(const NamelessFile&) = delete;
    ~NamelessFile() { ::close(descriptor_); }

    [[nodiscard]] std::string path() const {
        return "/proc/self/fd/" + std::to_string(descriptor_);
    }

private:
    int descriptor_ = -1;
};

}  // namespace tributary::test
