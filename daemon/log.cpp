// SPDX-License-Identifier: Apache-2.0
#include "daemon/log.hpp"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "daemon/log_limit.hpp"
#include "daemon/startup_error.hpp"

namespace tributary {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
    switch (level) {
        case LogLevel::trace:
            return spdlog::level::trace;
        case LogLevel::debug:
            return spdlog::level::debug;
        case LogLevel::info:
            return spdlog::level::info;
        case LogLevel::warn:
            return spdlog::level::warn;
        case LogLevel::error:
            return spdlog::level::err;
    }
    return spdlog::level::info;
}

/// Whether standard error goes to the journal, by what systemd says of it (systemd.exec(5)).
bool writes_to_journal() {
    const char* const stream = std::getenv("JOURNAL_STREAM");  // NOLINT(concurrency-mt-unsafe)
    struct stat status {};
    return stream != nullptr && ::fstat(STDERR_FILENO, &status) == 0 &&
           stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

/// A line's level as the journal takes it: "<6>".
class JournalLevel final : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& line, const std::tm& /*time*/,
                spdlog::memory_buf_t& out) override {
        constexpr std::array kLevels{LOG_DEBUG, LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};
        const auto index = std::min(static_cast<std::size_t>(line.level), kLevels.size() - 1);
        fmt::format_to(std::back_inserter(out), "<{}>", kLevels.at(index));
    }
    [[nodiscard]] std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
        return std::make_unique<JournalLevel>();
    }
};

std::unique_ptr<spdlog::formatter> line_format(bool for_journal) {
    auto format = std::make_unique<spdlog::pattern_formatter>();
    if (for_journal) {
        format->add_flag<JournalLevel>('*').set_pattern("%*%v");
    } else {
        format->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
    }
    return format;
}

}  // namespace

void set_up_log(LogLevel level) {
    auto sink = std::make_shared<LogLimit>(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    auto log = std::make_shared<spdlog::logger>("tributaryd", std::move(sink));
    log->set_formatter(line_format(writes_to_journal()));
    log->set_level(level_of(level));
    log->flush_on(spdlog::level::trace);
    spdlog::set_default_logger(std::move(log));
}

void set_log_level(LogLevel level) { spdlog::default_logger()->set_level(level_of(level)); }

void direct_log(const LogOptions& options) {
    if (options.file.empty()) {
        return;
    }
    try {
        auto file = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
            options.file, options.max_octets, options.max_files - 1);
        auto sink = std::make_shared<LogLimit>(std::move(file));
        sink->set_formatter(line_format(false));
        spdlog::default_logger()->sinks() = {std::move(sink)};
    } catch (const spdlog::spdlog_ex& error) {
        throw StartupError(EX_IOERR, std::string("log.file: ") + error.what());
    }
}

void log_event(const CollectorEvent& event) {
    switch (event.kind) {
        case CollectorEventKind::connected:
            spdlog::info(event.text);
            break;
        case CollectorEventKind::write_failed:
        case CollectorEventKind::encoding_failed:
            spdlog::error(event.text);
            break;
        default:
            spdlog::warn(event.text);
    }
}

}  // namespace tributary
