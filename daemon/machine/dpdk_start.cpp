// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/dpdk_start.hpp"

namespace tributary {
namespace {

std::mutex start_mutex;  // one for the process, as DPDK's tables are

}  // namespace

std::mutex& dpdk_start_mutex() noexcept { return start_mutex; }

}  // namespace tributary
