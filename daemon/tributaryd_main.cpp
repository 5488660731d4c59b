// SPDX-License-Identifier: Apache-2.0
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "conf/dump_config.hpp"
#include "conf/load_config.hpp"
#include "daemon/base/file_uses.hpp"
#include "daemon/base/signals.hpp"
#include "daemon/base/spdlog.hpp"
#include "daemon/base/standard_streams.hpp"
#include "daemon/capture_table.hpp"
#include "daemon/cli/command_line.hpp"
#include "daemon/cli/config_check.hpp"
#include "daemon/cli/program.hpp"
#include "daemon/filter/filter_check.hpp"
#include "daemon/log/log.hpp"
#include "daemon/offline.hpp"
#include "daemon/probe.hpp"
#include "daemon/trigger/trigger_check.hpp"
#include "export/collector_events.hpp"
#include "export/file_descriptor.hpp"
#include "export/transport/certificate_dates.hpp"
#include "export/transport/tls_library.hpp"

namespace {

using namespace tributary;
using Task = CommandLine::Task;

int print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) {
        return EX_OK;
    }
    std::fprintf(stderr, "tributaryd: cannot write to standard output: %s\n", words_for(errno));
    return EX_IOERR;
}

LoadedConfig load_and_warn(const CommandLine& command_line, const FurtherCheck& further) {
    LoadedConfig loaded = load_config(command_line, further);
    for (const std::string& warning : loaded.warnings) {
        spdlog::warn(warning);
    }
    for (const CollectorOptions& collector : loaded.config.export_.collectors) {
        for (const CertificateFault& fault : untimely_certificates(collector, std::time(nullptr))) {
            spdlog::warn("{}: tls.{} is {}, but {}", describe(collector), fault.key, fault.file,
                         fault.text);
        }
    }
    return loaded;
}

int run_as_probe(const CommandLine& command_line, const Config& config,
                 std::vector<FileUse> files) {
    Signals signals;
    return run_probe(config,
                     {.stats_interval = command_line.stats_interval,
                      .stats_path = command_line.stats_path,
                      .files = std::move(files),
                      .log_level = command_line.log_level,
                      .load = [&] { return load_and_warn(command_line, {}); }},
                     signals);
}

int run_with_captures(const CommandLine& command_line, const Config& config) {
    Signals signals;
    OfflineJob job{.captures = command_line.captures,
                   .output = command_line.output,
                   .stats_path = command_line.stats_path,
                   .destination = command_line.output + " holds"};
    if (!command_line.prints_table) {
        if (job.output.empty()) {
            job.destination = "the collectors have";
        }
        return run_offline(job, config, signals);
    }
    CaptureTable table;
    job.output = table.path();
    job.destination = "the table has";
    job.on_written = [&table] { table.finish(); };
    const int code = run_offline(job, config, signals);
    const int printed = table.exit_code();
    return code == EX_OK ? printed : code;
}

int run(const CommandLine& command_line) {
    if (command_line.task == Task::answer) {
        return print(command_line.answer);
    }
    if (command_line.task == Task::check_config) {
        return print(check_configuration(command_line));
    }
    const LoadedConfig loaded =
        load_and_warn(command_line, [](const Config& config, const YamlNode& root, Faults& faults) {
            check_filters(config, root, faults);
            check_conditions(config, root, faults);
        });
    set_log_level(command_line.log_level.value_or(loaded.config.log.level));
    switch (command_line.task) {
        case Task::answer:
        case Task::check_config:
            break;
        case Task::dump_config:
            return print(dump_config(loaded.config));
        case Task::offline: {
            std::vector<FileUse> files = files_of_run(command_line, loaded.config);
            files.push_back({.what = "the log.file of the configuration",
                             .path = loaded.probe_log,
                             .is_written = false});
            refuse_shared_files(files, loaded.config.export_);
            direct_log(loaded.config.log);
            return run_with_captures(command_line, loaded.config);
        }
        case Task::probe: {
            const std::vector<FileUse> files = files_of_run(command_line, loaded.config);
            refuse_shared_files(files, loaded.config.export_);
            direct_log(loaded.config.log);
            return run_as_probe(command_line, loaded.config, files);
        }
    }
    return EX_SOFTWARE;
}

}  // namespace

int main(int argc, char** argv) {
    reserve_standard_streams();
    raise_descriptor_limit();
    // Until Signals handles them: a request for statistics or a reload must not end the process.
    ::signal(SIGUSR1, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    keep_tls_library();
    try {
        const CommandLine command_line = parse_command_line({argv, static_cast<std::size_t>(argc)},
                                                            ::isatty(STDOUT_FILENO) != 0);
        set_up_log(command_line.log_level.value_or(LogLevel::info));
        return run(command_line);
    } catch (...) {
        return explain_failure("tributaryd");
    }
}
