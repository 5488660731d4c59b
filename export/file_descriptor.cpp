// SPDX-License-Identifier: Apache-2.0
#include "export/file_descriptor.hpp"

#include <unistd.h>

#include <cstring>

namespace tributary {

const char* words_for(int error) noexcept {
    const char* const words = ::strerrordesc_np(error);
    return words != nullptr ? words : "unknown error";
}

FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

}  // namespace tributary
