// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "export/file_descriptor.hpp"

namespace tributary {

/// A file of packets that gets its name when it is whole; until then it is called PATH.part, and it
/// is removed if it does not become whole. Only its owner may read it: it has the content of
/// conversations. Where PATH is a link to a file, all this is done to that file, and the link
/// stays. What is no regular file, such as a FIFO, is written as it is, and so is a descriptor,
/// such as /dev/stdout.
///
/// A part is locked (flock(2)) while it is written, so that no two processes write one.
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
    /// Why it failed, with its path. @pre error() != 0
    [[nodiscard]] std::string explain() const;
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
    std::string other_;  ///< the process that writes the part, as of locking_process()
    FileDescriptor file_;
    std::uint64_t octets_ = 0;
    int error_ = 0;
};

}  // namespace tributary
