// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "export/file_descriptor.hpp"

namespace tributary {

/// A file that is open for writing. Without `file`, see errno.
struct OpenedOutput {
    FileDescriptor file;
    off_t at{};  ///< octets before the first one that is written; another program wrote them
};

/// Opens a file for writing, and creates it. /dev/stdout is not opened anew if it is a file: the
/// octets that the shell's `>>`, or a program before this one, has put there stay, and a program
/// that writes after this one does so behind this one's octets.
///
/// @param how  flags of open(2) beside O_WRONLY, O_CREAT and O_CLOEXEC
[[nodiscard]] OpenedOutput open_output(const std::string& path, int how) noexcept;

/// Why a FIFO cannot be opened for writing without waiting: ENXIO.
inline constexpr const char* kFifoWithoutReader =
    "a FIFO that no program reads; start the reader first";

/// Whether a file could not be opened for lack of descriptors or memory, which may be there a
/// moment later.
[[nodiscard]] bool may_be_had_later(int error) noexcept;

/// Opens an existing file. Without descriptors it tries again, for up to 5 s.
///
/// @param how  flags of open(2) beside O_CLOEXEC
/// @return     without a file see errno
/// @thread     a thread that may wait
[[nodiscard]] FileDescriptor open_patiently(const char* path, int how) noexcept;

/// Locks a regular file that this process writes, as long as it is open.
///
/// @return  false: another process has locked it. On a file system without locks always true
[[nodiscard]] bool lock_file(int file) noexcept;
/// Whether another process has locked a file so. Two processes that test at once do not see each
/// other.
[[nodiscard]] bool is_locked_elsewhere(int file) noexcept;
/// For a message, behind the use of a locked file: " (PID 4121)"; empty: the kernel does not say.
/// @errors  std::bad_alloc
[[nodiscard]] std::string locking_process(int file);

/// Tests whether the disk has room for a message of the longest kind. The file's content stays.
///
/// @return  ENOSPC or EDQUOT; 0: there is room, or the file system does not say
[[nodiscard]] int errno_of_room(int file) noexcept;

}  // namespace tributary
