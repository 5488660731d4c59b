// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace tributary::perf {

/// Runs a program's body; reports its exceptions on standard error.
///
/// @return  the body's exit code, or EXIT_FAILURE
template <class Body>
int report_failure(Body&& body) noexcept {
    try {
        return body();
    } catch (const std::exception& error) {
        std::fputs(error.what(), stderr);
    } catch (...) {
        std::fputs("unknown failure", stderr);
    }
    std::fputc('\n', stderr);
    return EXIT_FAILURE;
}

}  // namespace tributary::perf
