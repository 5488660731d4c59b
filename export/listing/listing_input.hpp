// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <vector>

namespace tributary {

/// One input of a listing, opened: a file or standard input. Input compressed by gzip, xz or zstd
/// is unpacked while it is read, in bounded memory, whatever its name is.
/// @thread  one
class ListingInput {
public:
    /// @param path  "-": standard input
    /// @errors      IpfixInputError: it cannot be opened
    [[nodiscard]] static std::unique_ptr<ListingInput> open(const std::string& path);
    /// The same for one of files_of() a directory. If it was compressed since then, opens the
    /// compressed file.
    [[nodiscard]] static std::unique_ptr<ListingInput> open_of_directory(const std::string& path);

    ListingInput() = default;
    ListingInput(const ListingInput&) = delete;
    ListingInput& operator=(const ListingInput&) = delete;
    virtual ~ListingInput() = default;

    /// Reading throws IpfixInputError when the input fails, or when compressed data is damaged.
    [[nodiscard]] virtual std::istream& stream() noexcept = 0;
    /// For messages to the user.
    [[nodiscard]] virtual const std::string& name() const noexcept = 0;
};

/// @return  the path, or of a directory the files in it by name, without those that begin with a
///          dot, end in ".part", because they are being written, or are being compressed: X.gz,
///          X.xz and X.zst while X is there
/// @errors  IpfixInputError: the directory cannot be read, or has no such file
[[nodiscard]] std::vector<std::string> files_of(const std::string& path);

}  // namespace tributary
