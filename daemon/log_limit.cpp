// SPDX-License-Identifier: Apache-2.0
#include "daemon/log_limit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary {

void LogLimit::log(const spdlog::details::log_msg& line) {
    const std::lock_guard lock(mutex_);
    make_room(line.time);
    if (room_ == 0) {
        ++left_out_;
        return;
    }
    if (left_out_ > 0) {
        const std::string text =
            fmt::format("{} lines were left out, because they came too fast", left_out_);
        next_->log({line.time, {}, line.logger_name, spdlog::level::warn, text});
        left_out_ = 0;
    }
    --room_;
    next_->log(line);
}

void LogLimit::make_room(spdlog::log_clock::time_point now) {
    constexpr std::chrono::nanoseconds kPerLine{1'000'000'000 / kPerSecond};
    // A clock that is set back begins anew.
    const std::chrono::nanoseconds passed = std::max(now - filled_at_, {});
    const auto lines = static_cast<std::uint64_t>(passed / kPerLine);
    room_ = std::min(kBurst, room_ + lines);
    if (lines > 0 || now < filled_at_) {
        filled_at_ = now;
    }
}

}  // namespace tributary
