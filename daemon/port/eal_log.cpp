// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/eal_log.hpp"

#include <rte_log.h>

#include "daemon/base/spdlog.hpp"

namespace tributary {
namespace {

ssize_t write_to_log(void* log, const char* text, std::size_t octets) {
    static_cast<EalLog*>(log)->write({text, octets});
    return static_cast<ssize_t>(octets);
}

}  // namespace

EalLog::EalLog()
    : stream_(
          fopencookie(this, "w",
                      {.read = nullptr, .write = write_to_log, .seek = nullptr, .close = nullptr}),
          std::fclose) {
    if (stream_ != nullptr) {
        // DPDK flushes after each message; a buffer would only delay messages printed in pieces.
        std::setvbuf(stream_.get(), nullptr, _IONBF, 0);
        rte_openlog_stream(stream_.get());
    }
}

EalLog::~EalLog() { rte_openlog_stream(nullptr); }

std::string EalLog::first_line() const {
    const std::lock_guard lock(mutex_);
    return first_line_;
}

void EalLog::write(std::string_view text) {
    const std::lock_guard lock(mutex_);
    unfinished_ += text;
    std::size_t end = unfinished_.find('\n');
    while (end != std::string::npos) {
        const std::string line = unfinished_.substr(0, end);
        unfinished_.erase(0, end + 1);
        spdlog::warn("DPDK: {}", line);
        first_line_ = first_line_.empty() ? line : first_line_;
        end = unfinished_.find('\n');
    }
}

}  // namespace tributary
