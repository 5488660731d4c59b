// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/log_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tributary {

void LogLimit::log(const spdlog::details::log_msg& line) {
    const std::lock_guard lock(mutex_);
    make_room(line.time);
    const std::uint64_t wanted = left_out_ > 0 ? 2 : 1;  // with the line that reports them
    if (room_ < wanted && line.level < spdlog::level::err) {
        ++left_out_;
        return;
    }
    log_left_out(line.time);
    room_ -= std::min(room_, wanted);
    next_->log(line);
}

void LogLimit::look(spdlog::log_clock::time_point now) {
    const std::lock_guard lock(mutex_);
    make_room(now);
    if (left_out_ > 0 && room_ > 0) {
        --room_;
        log_left_out(now);
    }
}

void LogLimit::log_left_out(spdlog::log_clock::time_point now) {
    if (left_out_ > 0) {
        const std::string text =
            fmt::format("{} lines were left out, because they came too fast", left_out_);
        next_->log({now, {}, "tributary", spdlog::level::warn, text});
        left_out_ = 0;
    }
}

void LogLimit::make_room(spdlog::log_clock::time_point now) {
    constexpr std::chrono::nanoseconds kPerLine{1'000'000'000 / kPerSecond};
    // After a clock is set back, time begins anew.
    const std::chrono::nanoseconds passed = std::max(now - filled_at_, {});
    const auto lines = static_cast<std::uint64_t>(passed / kPerLine);
    const bool begins_anew = now < filled_at_ || room_ + lines >= kBurst;
    room_ = std::min(kBurst, room_ + lines);
    filled_at_ = begins_anew ? now
                             : filled_at_ + std::chrono::duration_cast<spdlog::log_clock::duration>(
                                                lines * kPerLine);
}

}  // namespace tributary
