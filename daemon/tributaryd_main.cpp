// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sysexits.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>

#include "conf/config_error.hpp"
#include "conf/dump_config.hpp"
#include "conf/load_config.hpp"
#include "daemon/command_line.hpp"
#include "daemon/offline.hpp"
#include "daemon/probe.hpp"
#include "daemon/report.hpp"
#include "daemon/signals.hpp"
#include "daemon/startup_error.hpp"
#include "export/export_error.hpp"

namespace {

using namespace tributary;
using Task = CommandLine::Task;

int print(const std::string& text) {
    const bool printed = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return printed ? EX_OK : EX_IOERR;
}

int run(const CommandLine& command_line) {
    if (command_line.task == Task::answer) {
        return print(command_line.answer);
    }
    const LoadedConfig loaded = load_config(command_line);
    for (const std::string& warning : loaded.warnings) {
        spdlog::warn(warning);
    }
    switch (command_line.task) {
        case Task::answer:
        case Task::check_config:
            return EX_OK;
        case Task::dump_config:
            return print(dump_config(loaded.config));
        case Task::offline: {
            Signals signals;
            return run_offline({.captures = command_line.captures,
                                .output = command_line.output,
                                .stats_path = command_line.stats_path},
                               loaded.config, signals);
        }
        case Task::probe: {
            Signals signals;
            return run_probe(loaded.config,
                             {.stats_interval = command_line.stats_interval,
                              .stats_path = command_line.stats_path},
                             signals);
        }
    }
    return EX_SOFTWARE;
}

/// Every way in which tributaryd ends before its time, as one line and an exit code.
int explain_failure() {
    try {
        throw;
    } catch (const UsageError& error) {
        std::fprintf(stderr, "tributaryd: %s\n", error.what());
        return EX_USAGE;
    } catch (const ConfigError& error) {
        spdlog::error(error.what());
        return EX_CONFIG;
    } catch (const StartupError& error) {
        spdlog::error(error.what());
        return error.exit_code();
    } catch (const ExportError& error) {
        spdlog::error(error.what());
        return EX_IOERR;
    } catch (const std::bad_alloc&) {
        spdlog::error(
            "not enough memory; flows.max-flows and the number of queues decide how much is "
            "needed");
        return EX_OSERR;
    } catch (const std::exception& error) {
        spdlog::error(error.what());
        return EX_SOFTWARE;
    }
}

/// Started with standard streams closed, the next file to be opened would become one of them and
/// get the log.
void reserve_standard_streams() {
    int fd = ::open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = ::open("/dev/null", O_RDWR);
    }
    ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
    reserve_standard_streams();
    try {
        const CommandLine command_line = parse_command_line({argv, static_cast<std::size_t>(argc)});
        set_up_log(command_line.log_level);
        return run(command_line);
    } catch (...) {
        return explain_failure();
    }
}
