// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/log/log_limit.hpp"
#include "export/characters.hpp"
#include "export/file_descriptor.hpp"
#include "export/transport/open_output.hpp"

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

/// Whether standard error goes to the journal, from systemd's variable (systemd.exec(5)).
bool writes_to_journal() {
    const char* const stream = std::getenv("JOURNAL_STREAM");  // NOLINT(concurrency-mt-unsafe)
    struct stat status {};
    return stream != nullptr && ::fstat(STDERR_FILENO, &status) == 0 &&
           stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

/// A line's level in the journal's form: "<6>".
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

/// The text of a line. Names and paths of the configuration, and words of a collector, may have
/// characters that control a terminal.
class VisibleText final : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& line, const std::tm& /*time*/,
                spdlog::memory_buf_t& out) override {
        const std::string_view text(line.payload.data(), line.payload.size());
        if (is_visible(text)) {  // it needs no memory
            out.append(text.data(), text.data() + text.size());
            return;
        }
        const std::string visible = without_hidden(text);
        out.append(visible.data(), visible.data() + visible.size());
    }
    [[nodiscard]] std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
        return std::make_unique<VisibleText>();
    }
};

std::unique_ptr<spdlog::formatter> line_format(bool for_journal) {
    auto format = std::make_unique<spdlog::pattern_formatter>();
    format->add_flag<VisibleText>('~');
    if (for_journal) {
        format->add_flag<JournalLevel>('*').set_pattern("%*%~");
    } else {
        format->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l: %~");
    }
    return format;
}

/// Opens a FIFO, so that opening it again does not wait for a reader.
/// @return  invalid: not a FIFO
/// @errors  spdlog::spdlog_ex: it has no reader
FileDescriptor open_if_fifo(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) {
        return {};
    }
    FileDescriptor fifo(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fifo) {
        throw spdlog::spdlog_ex(path + ": " +
                                (errno == ENXIO ? kFifoWithoutReader : words_for(errno)));
    }
    return fifo;
}

/// Locks an open file for this process. After that, a FIFO with a slow reader takes no lines, and
/// blocks no thread.
/// @errors  spdlog::spdlog_ex: another process writes it
void claim(const std::string& path, int file) {
    struct stat status {};
    if (!lock_file(file)) {
        throw spdlog::spdlog_ex(path + ": another process writes it" + locking_process(file));
    }
    if (::fstat(file, &status) == 0 && S_ISFIFO(status.st_mode)) {
        static_cast<void>(::fcntl(file, F_SETFL, O_APPEND | O_NONBLOCK) == 0);
    }
}

/// Rotated files for this process alone: each is locked as long as it is open. Lines that cannot be
/// written there, and all errors, go to standard error with the reason; the next line tries the
/// file again.
class LogFile final : public spdlog::sinks::base_sink<std::mutex> {
public:
    /// @errors  spdlog::spdlog_ex: the file cannot be opened, or another process writes it
    explicit LogFile(const LogOptions& options) : options_(options) {
        set_formatter_(line_format(false));
        standard_error_.set_formatter(line_format(writes_to_journal()));
        open();
    }
    void reopen() {
        const std::lock_guard lock(mutex_);
        file_.reset();
    }

protected:
    void sink_it_(const spdlog::details::log_msg& line) override {
        const std::string fault = write(line);
        if (fault.empty() != fault_.empty()) {
            log_state(line, fault);
        }
        fault_ = fault;
        if (!fault.empty() || line.level >= spdlog::level::err) {
            standard_error_.log(line);
        }
    }
    void flush_() override {}  // each line is flushed

private:
    void open() {
        constexpr bool kAppends = false;
        spdlog::file_event_handlers handlers;
        handlers.before_open = [this](const std::string& path) { fifo_ = open_if_fifo(path); };
        handlers.after_open = [this](const std::string& path, std::FILE* stream) {
            claim(path, ::fileno(stream));
            fifo_ = {};
        };
        file_ = std::make_unique<spdlog::sinks::rotating_file_sink_st>(
            options_.file, options_.max_octets, options_.max_files - 1, kAppends, handlers);
        file_->set_formatter(formatter_->clone());
    }
    /// Logs to standard error that the log's lines come there from now on, or not any more.
    void log_state(const spdlog::details::log_msg& line, const std::string& fault) {
        const std::string text = fault.empty()
                                     ? "log.file " + options_.file + ": can be written again"
                                     : "log.file " + options_.file + ": cannot be written (" +
                                           fault + "); its lines follow here";
        standard_error_.log({line.time, {}, {}, spdlog::level::warn, text});
    }
    /// @return  why it was not written; empty: it was
    [[nodiscard]] std::string write(const spdlog::details::log_msg& line) {
        try {
            if (file_ == nullptr) {
                open();
            }
            file_->log(line);
            file_->flush();
            return {};
        } catch (const spdlog::spdlog_ex& error) {
            file_.reset();
            return error.what();
        }
    }

    LogOptions options_;
    FileDescriptor fifo_;  ///< held while it is being opened
    std::string fault_;    ///< of the last line
    std::unique_ptr<spdlog::sinks::rotating_file_sink_st> file_;
    spdlog::sinks::stderr_sink_mt standard_error_;
};

/// The file for lines; nullptr: standard error only.
std::shared_ptr<LogFile>& log_file() {
    static std::shared_ptr<LogFile> only;
    return only;
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
        log_file() = std::make_shared<LogFile>(options);
    } catch (const spdlog::spdlog_ex& error) {
        throw StartupError(EX_IOERR, std::string("log.file: ") + error.what());
    }
    spdlog::default_logger()->sinks() = {std::make_shared<LogLimit>(log_file())};
}

void log_left_out_lines() {
    for (const spdlog::sink_ptr& sink : spdlog::default_logger()->sinks()) {
        if (auto* const limit = dynamic_cast<LogLimit*>(sink.get())) {
            limit->look(spdlog::log_clock::now());
        }
    }
}

void reopen_log() {
    if (log_file() != nullptr) {
        log_file()->reopen();
    }
}

void log_event(const CollectorEvent& event) {
    const bool is_serious = event.kind == CollectorEventKind::write_failed ||
                            event.kind == CollectorEventKind::encoding_failed;
    const auto bad = is_serious ? spdlog::level::err : spdlog::level::warn;
    spdlog::log(is_good_news(event.kind) ? spdlog::level::info : bad, event.text);
}

}  // namespace tributary
