// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tributary {

/// The system calls that rename_without_replacing() is made of. @return  0, or an errno
struct RenameCalls {
    using Call = int (*)(const char* from, const char* to) noexcept;
    Call rename;  ///< as renameat2() with RENAME_NOREPLACE
    Call link;    ///< as link()
};
/// Those of the kernel.
[[nodiscard]] RenameCalls kernel_rename_calls() noexcept;

/// Gives a file another name, unless that leads to a file already. NFS and some FUSE file systems
/// cannot do so in one step: there the file has both names for a moment.
///
/// @return  0, or an errno, for words_for_rename(); EEXIST: another file has the name
[[nodiscard]] int rename_without_replacing(const std::string& from, const std::string& to,
                                           RenameCalls calls = kernel_rename_calls()) noexcept;
/// What rename_without_replacing() failed by, and what can be done where the file system is to
/// blame.
[[nodiscard]] const char* words_for_rename(int error) noexcept;

}  // namespace tributary
