// SPDX-License-Identifier: Apache-2.0
#include "export/threads/process_threads.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <tuple>
#include <utility>

namespace tributary {
namespace {

constexpr const char* kTasks = "/proc/self/task";

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = error == std::errc{} && end == text.data() + text.size();
    return is_whole ? std::optional(number) : std::nullopt;
}

std::vector<std::uint32_t> affinity_of(pid_t thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<std::uint32_t> cpus;
    if (::sched_getaffinity(thread, sizeof set, &set) == 0) {
        for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set)) {
                cpus.push_back(cpu);
            }
        }
    }
    return cpus;
}

std::chrono::nanoseconds time_of(std::uint64_t ticks) {
    static const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
    const auto per_second = static_cast<std::uint64_t>(std::max(1L, ticks_per_second));
    return std::chrono::nanoseconds(ticks * (std::nano::den / per_second));
}

/// Takes name, CPU and time from the kernel, as far as it tells.
ProcessThread read_thread(pid_t id) {
    ProcessThread thread{
        .name = {}, .id = id, .cpus = affinity_of(id), .cpu = {}, .cpu_time = {}, .hangs = {}};
    std::ifstream file(std::string(kTasks) + "/" + std::to_string(id) + "/stat");
    std::string line;
    std::getline(file, line);
    if (std::optional<TaskStat> stat = parse_task_stat(line)) {
        thread.name = std::move(stat->name);
        thread.cpu = stat->cpu;
        thread.cpu_time = time_of(stat->ticks);
    }
    return thread;
}

std::optional<bool> watchdog_of(const RegisteredThread& thread, std::chrono::nanoseconds now) {
    const bool has_one = thread.patience.count() > 0;
    return has_one ? std::optional(thread.hangs(now)) : std::nullopt;
}

std::vector<pid_t> read_ids() {
    std::vector<pid_t> ids;
    std::error_code error;
    std::filesystem::directory_iterator tasks(kTasks, error);
    while (!error && tasks != std::filesystem::directory_iterator()) {
        if (const auto id = parse_number<pid_t>(tasks->path().filename().string())) {
            ids.push_back(*id);
        }
        tasks.increment(error);
    }
    return ids;
}

/// Main and helper threads stand ahead of pinned ones.
auto order_of(const ProcessThread& thread) {
    return std::tuple(thread.role == ThreadRole::pinned, thread.role, thread.name, thread.id);
}

}  // namespace

std::optional<TaskStat> parse_task_stat(std::string_view line) {
    // Behind the name, which may hold anything, stand the fields from the third on.
    constexpr std::size_t kFirst = 3;
    constexpr std::size_t kUserTicks = 14;
    constexpr std::size_t kSystemTicks = 15;
    constexpr std::size_t kProcessor = 39;
    const std::size_t begin = line.find('(');
    const std::size_t end = line.rfind(')');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
        return std::nullopt;
    }
    std::string_view rest = line.substr(std::min(line.size(), end + 2));
    std::array<std::optional<std::uint64_t>, kProcessor + 1> fields{};
    for (std::size_t field = kFirst; field <= kProcessor; ++field) {
        const std::string_view text = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), text.size() + 1));
        fields.at(field) = parse_number<std::uint64_t>(text);
    }
    if (!fields[kUserTicks] || !fields[kSystemTicks] || !fields[kProcessor]) {
        return std::nullopt;
    }
    return TaskStat{.name = std::string(line.substr(begin + 1, end - begin - 1)),
                    .ticks = *fields[kUserTicks] + *fields[kSystemTicks],
                    .cpu = static_cast<std::uint32_t>(*fields[kProcessor])};
}

std::vector<ProcessThread> read_process_threads(std::chrono::nanoseconds now) {
    std::vector<RegisteredThread> registered = registered_threads();
    std::vector<ProcessThread> threads;
    for (const pid_t id : read_ids()) {
        ProcessThread thread = read_thread(id);
        const auto known = std::ranges::find(registered, id, &RegisteredThread::id);
        if (known != registered.end()) {
            thread.role = known->role;
            thread.hangs = watchdog_of(*known, now);
            thread.name = std::move(known->name);
            registered.erase(known);
        } else {
            thread.role = id == ::getpid() ? ThreadRole::main : ThreadRole::library;
        }
        const bool has_ended = thread.name.empty();
        if (!has_ended) {
            thread.name = thread.role == ThreadRole::main ? "main" : std::move(thread.name);
            threads.push_back(std::move(thread));
        }
    }
    if (threads.empty()) {
        for (RegisteredThread& each : registered) {
            threads.push_back({.name = std::move(each.name),
                               .role = each.role,
                               .id = each.id,
                               .cpus = affinity_of(each.id),
                               .cpu = {},
                               .cpu_time = {},
                               .hangs = watchdog_of(each, now)});
        }
    }
    std::ranges::sort(threads, {}, order_of);
    return threads;
}

std::string cpu_list(const std::vector<std::uint32_t>& cpus) {
    std::string text;
    for (std::size_t at = 0; at < cpus.size(); ++at) {
        const std::uint32_t first = cpus[at];
        while (at + 1 < cpus.size() && cpus[at + 1] == cpus[at] + 1) {
            ++at;
        }
        text += (text.empty() ? "" : ",") + std::to_string(first);
        text += cpus[at] != first ? "-" + std::to_string(cpus[at]) : "";
    }
    return text;
}

}  // namespace tributary
