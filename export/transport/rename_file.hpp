// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tributary {

/// The system calls of rename_without_replacing(). @return  0, or an errno
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
/// Why rename_without_replacing() failed, and what can be done if the file system is the cause.
[[nodiscard]] const char* words_for_rename(int error) noexcept;

}  // namespace tributary
