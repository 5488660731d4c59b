// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace tributary {

/// Sends DPDK's log to the daemon's log, and keeps the first line for error messages: later lines
/// only say that something failed. Without it DPDK writes to standard output and syslog.
class EalLog {
public:
    EalLog();
    ~EalLog();
    EalLog(const EalLog&) = delete;
    EalLog& operator=(const EalLog&) = delete;

    /// @return  the first line of DPDK's log, without its line end; empty: none
    /// @thread  any
    [[nodiscard]] std::string first_line() const;

    /// Takes text as DPDK writes it: any number of lines, the last perhaps unfinished.
    ///
    /// @thread  any
    void write(std::string_view text);

private:
    mutable std::mutex mutex_;
    std::string unfinished_;
    std::string first_line_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_;
};

}  // namespace tributary
