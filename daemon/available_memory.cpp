// SPDX-License-Identifier: Apache-2.0
#include "daemon/available_memory.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace tributary {

std::uint64_t available_memory() {
    std::ifstream meminfo("/proc/meminfo");
    std::string name;
    std::uint64_t kibibytes = 0;
    for (std::string unit; meminfo >> name >> kibibytes; std::getline(meminfo, unit)) {
        if (name == "MemAvailable:") {
            return kibibytes * 1024;
        }
    }
    return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace tributary
