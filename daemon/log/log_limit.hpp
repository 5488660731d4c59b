// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/sinks/sink.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace tributary {

/// Limits lines of the log to what a disk and a reader can take: kBurst at once, and kPerSecond on
/// average; errors always pass. The number of lines left out is a line of its own, before the next
/// line, in look(), or at the end. Time is that of the lines.
/// @thread  any
class LogLimit final : public spdlog::sinks::sink {
public:
    static constexpr std::uint64_t kBurst = 1000;
    static constexpr std::uint64_t kPerSecond = 20;

    explicit LogLimit(std::shared_ptr<spdlog::sinks::sink> next) : next_(std::move(next)) {}

    ~LogLimit() override { log_left_out(spdlog::log_clock::now()); }
    LogLimit(const LogLimit&) = delete;
    LogLimit& operator=(const LogLimit&) = delete;

    void log(const spdlog::details::log_msg& line) override;
    /// Logs how many were left out, if there is room. Call it now and then.
    void look(spdlog::log_clock::time_point now);
    void flush() override {
        const std::lock_guard lock(mutex_);
        next_->flush();
    }
    void set_pattern(const std::string& pattern) override { next_->set_pattern(pattern); }
    void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
        next_->set_formatter(std::move(formatter));
    }

private:
    void make_room(spdlog::log_clock::time_point now);
    void log_left_out(spdlog::log_clock::time_point now);

    std::shared_ptr<spdlog::sinks::sink> next_;
    std::mutex mutex_;
    std::uint64_t room_ = kBurst;  ///< lines that may be written
    spdlog::log_clock::time_point filled_at_;
    std::uint64_t left_out_ = 0;
};

}  // namespace tributary
