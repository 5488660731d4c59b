// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/available_memory.hpp"

#include <fstream>
#include <limits>
#include <string>
#include <string_view>

namespace tributary {
namespace {

/// @return  a line of /proc/meminfo in bytes; the largest number: no such line
std::uint64_t read_memory(std::string_view line) {
    std::ifstream meminfo("/proc/meminfo");
    std::string name;
    std::uint64_t kibibytes = 0;
    for (std::string unit; meminfo >> name >> kibibytes; std::getline(meminfo, unit)) {
        if (name == line) {
            return kibibytes * 1024;
        }
    }
    return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint64_t available_memory() { return read_memory("MemAvailable:"); }

std::uint64_t installed_memory() { return read_memory("MemTotal:"); }

}  // namespace tributary
