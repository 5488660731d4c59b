// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
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
#include <system_error>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "export/transport/open_output.hpp"

namespace tributary {
namespace {

std::string words_of(int error) {
    return error == ENXIO ? kFifoWithoutReader : std::generic_category().message(error);
}

/// Opens without waiting for the reader of a FIFO; writes wait for it.
/// @return  nullptr: see errno
std::FILE* open_stats(const std::string& path) noexcept {
    FileDescriptor file = open_output(path, O_TRUNC | O_NONBLOCK).file;
    const int flags = file ? ::fcntl(file.get(), F_GETFL) : -1;
    if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
        return nullptr;
    }
    std::FILE* const stream = ::fdopen(file.get(), "w");
    if (stream != nullptr) {
        static_cast<void>(file.release());
    }
    return stream;
}

void log_missing(const CollectorLedger& collector) {
    for (const auto& [cause, records] : collector.lost_by_cause) {
        if (records > 0) {
            spdlog::warn("{}: did not get {} flow records: {}", collector.name, records, cause);
        }
    }
}

using EndedByReason = std::array<std::uint64_t, kFlowEndReasonCount>;

/// @param whose  words in front of it
/// @param key    of the configuration, that is too small
void log_evicted(const std::string& whose, const EndedByReason& ended, const char* key) {
    const std::uint64_t evicted = ended[static_cast<std::size_t>(FlowEndReason::lack_of_resources)];
    if (evicted > 0) {
        spdlog::warn(
            "{}{} flow records ended early, because their caches were full: {} is too small for "
            "this traffic",
            whose, evicted, key);
    }
}

/// @param whose  words in front of it
void log_lost(const std::string& whose, const LostByCause& lost) {
    for (const auto& [cause, tally] : lost) {
        if (tally.records > 0) {
            spdlog::warn("{}lost: {} flow records with {} packets and {} octets: {}", whose,
                         tally.records, tally.packets, tally.octets, cause);
        }
    }
}

/// Logs the records that no collector has, and with several collectors those that each one lacks.
void log_losses(const Ledger& ledger) {
    log_lost("", ledger.total().lost);
    for (const TableLedger& table : ledger.tables) {
        log_lost("table " + table.name + ": ", table.lost);
    }
    if (ledger.collectors.size() == 1) {
        return;
    }
    std::ranges::for_each(ledger.collectors, log_missing);
}

}  // namespace

FileDescriptor check_stats_path(const std::string& stats_path) {
    if (stats_path.empty() || stats_path == "-") {
        return {};
    }
    constexpr int kHow = O_WRONLY | O_CLOEXEC | O_NONBLOCK;
    FileDescriptor file(::open(stats_path.c_str(), kHow));
    if (!file && errno == ENOENT) {  // a run that does not begin leaves no file
        file = FileDescriptor(::open(stats_path.c_str(), kHow | O_CREAT | O_EXCL, 0644));
        if (file) {
            ::unlink(stats_path.c_str());
        } else if (errno == EEXIST) {  // a link to no file yet
            file = FileDescriptor(::open(stats_path.c_str(), kHow | O_CREAT, 0644));
        }
    }
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        throw StartupError(EX_IOERR, "--stats " + stats_path + ": " + words_of(errno));
    }
    return S_ISFIFO(status.st_mode) ? std::move(file) : FileDescriptor();
}

int write_stats(const std::string& json, const std::string& stats_path) {
    if (stats_path.empty()) {
        return EX_OK;
    }
    std::FILE* file = stats_path == "-" ? stdout : open_stats(stats_path);
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
    log_evicted("", total.ended, "flows.max-flows");
    for (const TableLedger& table : ledger.tables) {
        log_evicted("table " + table.name + ": ", table.ended, "its max-flows");
    }
    log_losses(ledger);
    int code = write_stats(to_json(ledger), stats_path);
    if (const std::string text = imbalance(ledger); !text.empty()) {
        spdlog::error("the ledger does not add up, which is a defect of tributaryd: {}", text);
        code = EX_SOFTWARE;
    }
    return code;
}

}  // namespace tributary
