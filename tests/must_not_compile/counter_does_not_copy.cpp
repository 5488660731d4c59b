// SPDX-License-Identifier: Apache-2.0
#include "flowcache/record/counter.hpp"

std::uint64_t account(const tributary::Counter& packets) {
    static_cast<void>(tributary::Counter{packets});  // forbidden
    return packets.read();
}
