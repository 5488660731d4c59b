// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <functional>

#include "daemon/base/startup_error.hpp"

namespace tributary::test {

/// @return  the exit code of the StartupError that `start` throws; 0: it throws none
inline int exit_code_of(const std::function<void()>& start) {
    try {
        start();
    } catch (const StartupError& error) {
        UNSCOPED_INFO(error.what());
        return error.exit_code();
    }
    return 0;
}

}  // namespace tributary::test
