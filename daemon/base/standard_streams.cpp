// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/standard_streams.hpp"

#include <sysexits.h>

#include <cerrno>
#include <iostream>

#include "export/file_descriptor.hpp"

namespace tributary {

int end_output(const std::string& program) {
    std::cout << std::flush;
    if (std::cout || errno == EPIPE) {
        return EX_OK;
    }
    std::cerr << program << ": cannot write: " << words_for(errno) << '\n';
    return EX_IOERR;
}

}  // namespace tributary
