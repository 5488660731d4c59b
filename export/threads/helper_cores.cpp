// SPDX-License-Identifier: Apache-2.0
#include "export/threads/helper_cores.hpp"

#include <pthread.h>

#include <cerrno>
#include <mutex>

namespace tributary {
namespace {

/// The cores belong to the process, as its threads do. Threads that outlive main() read them.
struct HelperCores {
    std::mutex mutex;
    std::optional<cpu_set_t> cpus;
};

HelperCores& helper_cores() noexcept {
    static HelperCores only;
    return only;
}

std::optional<cpu_set_t> known_cores() noexcept {
    HelperCores& cores = helper_cores();
    const std::lock_guard lock(cores.mutex);
    return cores.cpus;
}

int move_to(const cpu_set_t& cpus) noexcept {
    return ::pthread_setaffinity_np(::pthread_self(), sizeof cpus, &cpus);
}

}  // namespace

int take_helper_cores(const std::vector<std::uint32_t>& cpus) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::uint32_t cpu : cpus) {
        if (cpu >= CPU_SETSIZE) {
            return EINVAL;
        }
        CPU_SET(cpu, &set);
    }
    if (const int error = move_to(set); error != 0) {
        return error;
    }
    HelperCores& cores = helper_cores();
    const std::lock_guard lock(cores.mutex);
    cores.cpus = set;
    return 0;
}

int move_to_helper_cores() noexcept {
    const std::optional<cpu_set_t> cpus = known_cores();
    return cpus ? move_to(*cpus) : 0;
}

HelperScope::HelperScope() noexcept {
    const std::optional<cpu_set_t> cpus = known_cores();
    cpu_set_t former;
    if (cpus && ::pthread_getaffinity_np(::pthread_self(), sizeof former, &former) == 0 &&
        move_to(*cpus) == 0) {
        former_ = former;
    }
}

HelperScope::~HelperScope() {
    if (former_) {
        static_cast<void>(move_to(*former_) == 0);
    }
}

}  // namespace tributary
