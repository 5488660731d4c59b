// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/threads/thread_registry.hpp"

namespace tributary {

/// A thread of this process, as the kernel and the registry know it.
struct ProcessThread {
    std::string name;
    ThreadRole role{};
    pid_t id{};
    std::vector<std::uint32_t> cpus;   ///< that it may run on; empty: unknown
    std::optional<std::uint32_t> cpu;  ///< where it ran last; nullopt: unknown
    /// Of a CPU so far, in steps of the kernel's clock ticks (10 ms); nullopt: unknown.
    std::optional<std::chrono::nanoseconds> cpu_time;
    std::optional<bool> hangs;  ///< nullopt: it has no watchdog
};

/// All threads of this process, those that libraries have started too: main, helper and library
/// threads, then pinned ones, each by name. Without /proc it has the registered ones alone.
///
/// @errors  std::bad_alloc
/// @param now  uptime (CLOCK_MONOTONIC), for hanging threads
/// @thread  any but the input threads
/// @cost    a file and a system call for each thread: some ten microseconds
[[nodiscard]] std::vector<ProcessThread> read_process_threads(std::chrono::nanoseconds now);

/// The fields of a line of /proc/PID/task/TID/stat.
struct TaskStat {
    std::string name;
    std::uint64_t ticks{};  ///< of CPU time, in user and kernel mode
    std::uint32_t cpu{};    ///< where it ran last
};
/// @return  nullopt: it has another form
/// @source  proc(5)
/// @thread  any; pure
[[nodiscard]] std::optional<TaskStat> parse_task_stat(std::string_view line);

/// CPUs in the form of the kernel's lists, "0-3,8"; empty: none.
///
/// @param cpus  in ascending order
[[nodiscard]] std::string cpu_list(const std::vector<std::uint32_t>& cpus);

}  // namespace tributary
