// SPDX-License-Identifier: Apache-2.0
#include "daemon/thread_room.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <future>
#include <iterator>
#include <system_error>
#include <thread>
#include <vector>

namespace tributary {
namespace {

using namespace std::chrono_literals;

std::size_t threads_of_this_process() {
    std::error_code unknown;  // then there is none to wait for
    const std::filesystem::directory_iterator tasks("/proc/self/task", unknown);
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// A thread that was joined counts for the kernel some microseconds longer.
void wait_until_gone(std::size_t threads_before) {
    constexpr int kLooks = 100;
    for (int look = 0; look < kLooks && threads_of_this_process() > threads_before; ++look) {
        std::this_thread::sleep_for(1ms);
    }
}

/// @errors  std::system_error: one of them cannot be had
void start(std::vector<std::jthread>& threads, std::size_t count,
           const std::shared_future<void>& end) {
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([end] { end.wait(); });
    }
}

/// @errors  as start()
void start_and_end(std::size_t count) {
    std::promise<void> end;
    const std::shared_future<void> ended = end.get_future().share();
    std::vector<std::jthread> threads;
    threads.reserve(count);
    try {
        start(threads, count, ended);
    } catch (...) {
        end.set_value();
        throw;
    }
    end.set_value();
}

}  // namespace

bool has_room_for_threads(std::size_t count) noexcept {
    try {
        const std::size_t before = threads_of_this_process();
        start_and_end(count);
        wait_until_gone(before);
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace tributary
