// SPDX-License-Identifier: Apache-2.0
#include "export/transport/rename_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "export/file_descriptor.hpp"

namespace tributary {

RenameCalls kernel_rename_calls() noexcept {
    return {.rename =
                [](const char* from, const char* to) noexcept {
                    return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0
                                                                                            : errno;
                },
            .link = [](const char* from,
                       const char* to) noexcept { return ::link(from, to) == 0 ? 0 : errno; }};
}

int rename_without_replacing(const std::string& from, const std::string& to,
                             RenameCalls calls) noexcept {
    const int refusal = calls.rename(from.c_str(), to.c_str());
    // The kernel does not have the call, or the file system does not have its flag.
    if (refusal != EINVAL && refusal != ENOSYS) {
        return refusal;
    }
    // A link refuses a name that leads to a file, too.
    const int fault = calls.link(from.c_str(), to.c_str());
    if (fault == EPERM || fault == ENOSYS) {
        return EOPNOTSUPP;
    }
    if (fault != 0 || ::unlink(from.c_str()) == 0) {
        return fault;
    }
    const int kept = errno;  // the old name stays, and then it must be the only one
    static_cast<void>(::unlink(to.c_str()) == 0);
    return kept;
}

const char* words_for_rename(int error) noexcept {
    return error == EOPNOTSUPP ? "the file system has neither a rename that replaces no file nor "
                                 "hard links; rename the file yourself, or use another file system"
                               : words_for(error);
}

}  // namespace tributary
