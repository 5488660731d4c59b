// SPDX-License-Identifier: Apache-2.0
#include "daemon/report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>

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

std::unique_ptr<spdlog::formatter> line_format() {
    auto format = std::make_unique<spdlog::pattern_formatter>();
    if (writes_to_journal()) {
        format->add_flag<JournalLevel>('*').set_pattern("%*%v");
    } else {
        format->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
    }
    return format;
}

std::string words_of(int error) { return std::generic_category().message(error); }

bool are_one_file(const std::string& a, const std::string& b) {
    std::error_code ignored;  // what is not there yet is no other file
    return std::filesystem::equivalent(a, b, ignored) &&
           std::filesystem::is_regular_file(a, ignored);
}

}  // namespace

void set_up_log(LogLevel level) {
    auto log = spdlog::stderr_logger_mt("tributaryd");
    log->set_formatter(line_format());
    log->set_level(level_of(level));
    log->flush_on(spdlog::level::trace);
    spdlog::set_default_logger(std::move(log));
}

void set_log_level(LogLevel level) { spdlog::default_logger()->set_level(level_of(level)); }

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

void check_stats_path(const std::string& stats_path) {
    if (stats_path.empty() || stats_path == "-") {
        return;
    }
    const int fd = ::open(stats_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0) {
        throw StartupError(EX_IOERR, "--stats " + stats_path + ": " + words_of(errno));
    }
    ::close(fd);
}

void refuse_overwriting(std::span<const std::string> captures, const std::string& output,
                        const std::string& stats_path) {
    for (const std::string& capture : captures) {
        if (are_one_file(capture, output) || are_one_file(capture, stats_path)) {
            throw StartupError(
                EX_USAGE,
                capture + " is a capture to be read; --write or --stats would destroy it");
        }
    }
    if (!output.empty() && (stats_path == output || are_one_file(stats_path, output))) {
        throw StartupError(EX_USAGE, "records and --stats would be in one file, " + output);
    }
}

int write_stats(const std::string& json, const std::string& stats_path) {
    if (stats_path.empty()) {
        return EX_OK;
    }
    std::FILE* file = stats_path == "-" ? stdout : std::fopen(stats_path.c_str(), "w");
    if (file == nullptr) {
        spdlog::error("--stats {}: {}", stats_path, words_of(errno));
        return EX_IOERR;
    }
    const bool written = std::fputs(json.c_str(), file) >= 0 && std::fflush(file) == 0;
    const int error = errno;
    const bool closed = file == stdout || std::fclose(file) == 0;
    if (!written || !closed) {
        spdlog::error("--stats {}: {}", stats_path, words_of(written ? errno : error));
        return EX_IOERR;
    }
    return EX_OK;
}

int report_ledger(const Ledger& ledger, const std::string& stats_path) {
    spdlog::info("ledger: {}", to_line(ledger));
    const QueueLedger total = ledger.total();
    for (const auto& [reason, count] : total.ignored) {
        if (count > 0) {
            spdlog::info("ignored: {} packets: {}", count, reason);
        }
    }
    for (const auto& [cause, tally] : total.lost) {
        if (tally.records > 0) {
            spdlog::warn("lost: {} flow records with {} packets and {} octets: {}", tally.records,
                         tally.packets, tally.octets, cause);
        }
    }
    int code = write_stats(to_json(ledger), stats_path);
    if (const std::string text = imbalance(ledger); !text.empty()) {
        spdlog::error("the ledger does not add up, which is a defect of tributaryd: {}", text);
        code = EX_SOFTWARE;
    }
    return code;
}

}  // namespace tributary
