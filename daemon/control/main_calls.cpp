// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/main_calls.hpp"

#include <stdexcept>
#include <utility>

namespace tributary {

MainCalls::MainCalls(std::function<void()> wake) : wake_(std::move(wake)) {}

std::string MainCalls::make(Call call) {
    std::future<std::string> result;
    {
        const std::lock_guard lock(mutex_);
        if (is_closed_) {
            throw std::runtime_error("tributaryd is stopping");
        }
        waiting_.emplace_back(std::move(call));
        result = waiting_.back().get_future();
    }
    wake_();
    try {
        return result.get();
    } catch (const std::future_error&) {
        throw std::runtime_error("tributaryd is stopping");
    }
}

void MainCalls::run_all() {
    for (auto next = take_next(); next.valid(); next = take_next()) {
        next();
    }
}

/// @return  not valid: none
std::packaged_task<std::string()> MainCalls::take_next() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
        return {};
    }
    std::packaged_task<std::string()> next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
}

void MainCalls::close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    waiting_.clear();  // a broken promise ends the wait of its caller
}

}  // namespace tributary
