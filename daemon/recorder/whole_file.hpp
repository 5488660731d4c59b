// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "export/file_descriptor.hpp"

namespace tributary {

/// A file of packets that gets its name when it is whole; until then it is called PATH.part, and it
/// is removed if it does not become whole. Only its owner may read it: it has the content of
/// conversations. What is no regular file, such as a FIFO, is written as it is.
///
/// @thread  one
class WholeFile {
public:
    static constexpr const char* kSuffix = ".part";

    /// @param path  "-": standard output
    explicit WholeFile(const std::string& path);
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;
    ~WholeFile();

    /// An errno of the first call that failed; 0: none.
    [[nodiscard]] int error() const noexcept { return error_; }
    /// Octets that were written.
    [[nodiscard]] std::uint64_t octets() const noexcept { return octets_; }
    /// Without effect after a failure.
    void write(std::string_view octets) noexcept;
    /// Gives it its name, when its content is on the disk. @return  false: see error()
    [[nodiscard]] bool finish() noexcept;

private:
    [[nodiscard]] bool is_apart() const noexcept { return written_ != path_; }

    std::string path_;
    std::string written_;
    FileDescriptor file_;
    std::uint64_t octets_ = 0;
    int error_ = 0;
};

}  // namespace tributary
