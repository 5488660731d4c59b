// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <system_error>

#include "conf/config_error.hpp"
#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/cli/command_line.hpp"
#include "daemon/machine/numa_memory.hpp"
#include "export/characters.hpp"
#include "export/export_error.hpp"

namespace tributary {

void reserve_standard_streams() {
    int fd = ::open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO) {
        if (fd == STDOUT_FILENO) {  // its output would be lost, which counts as a fault
            ::close(fd);
            static_cast<void>(::open("/dev/full", O_RDWR) == STDOUT_FILENO);
        }
        fd = ::open("/dev/null", O_RDWR);
    }
    ::close(fd);
}

void raise_descriptor_limit() noexcept {
    constexpr rlim_t kEnough = 65'536;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnough) {
        limit.rlim_cur = std::min(limit.rlim_max, kEnough);
        static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit) ==
                          0);  // on failure the old limit stays
    }
}

int explain_failure(const char* program) {
    try {
        throw;
    } catch (const UsageError& error) {
        std::fprintf(stderr, "%s: %s\n", program, without_hidden(error.what()).c_str());
        return EX_USAGE;
    } catch (const ConfigError& error) {
        std::istringstream faults(error.what());
        for (std::string fault; std::getline(faults, fault);) {
            spdlog::error(fault);
        }
        return EX_CONFIG;
    } catch (const StartupError& error) {
        spdlog::error(error.what());
        return error.exit_code();
    } catch (const ExportError& error) {
        spdlog::error(error.what());
        return EX_IOERR;
    } catch (const MemoryShortage& shortage) {
        constexpr std::size_t kMebibyte = 1U << 20U;
        const auto node = shortage.node;
        spdlog::error(
            "not enough memory: the next flow cache or ring needs {} MiB{}; flows.max-flows and "
            "the "
            "number of queues decide how much is needed",
            shortage.bytes / kMebibyte, node ? fmt::format(" on NUMA node {}", *node) : "");
        return EX_OSERR;
    } catch (const std::bad_alloc&) {
        spdlog::error(
            "not enough memory; flows.max-flows and the number of queues decide how much is "
            "needed");
        return EX_OSERR;
    } catch (const std::system_error& error) {  // no threads or descriptors
        spdlog::error(error.what());
        return EX_OSERR;
    } catch (const std::exception& error) {
        spdlog::error(error.what());
        return EX_SOFTWARE;
    }
}

}  // namespace tributary
