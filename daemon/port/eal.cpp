// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/eal.hpp"

#include <net/if.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <sysexits.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <system_error>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/machine/available_memory.hpp"
#include "daemon/machine/dpdk_start.hpp"

namespace tributary {
namespace {

namespace fs = std::filesystem;

std::uint64_t free_huge_page_bytes() {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& folder : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
        // hugepages-2048kB
        const std::string name = folder.path().filename();
        const std::uint64_t kibibytes =
            std::strtoull(name.c_str() + name.find('-') + 1, nullptr, 10);
        std::uint64_t pages = 0;
        std::ifstream(folder.path() / "free_hugepages") >> pages;
        bytes += pages * kibibytes * 1024;
    }
    return bytes;
}

/// The same in ordinary memory: an object of a mempool never crosses a page boundary, so up to half
/// of each small page is unused.
std::uint64_t ordinary_bytes(const EalOptions& options) {
    return 2 * options.memory_bytes + kEalOwnMemory;
}

bool enough_huge_pages(const EalOptions& options, std::uint64_t huge_page_bytes) {
    return options.may_use_huge_pages && huge_page_bytes >= options.memory_bytes + kEalOwnMemory;
}

void refuse_duplicates(const EalOptions& options) {
    std::set<std::string> names;
    for (const EalDevice& device : options.devices) {
        if (!names.insert(device.port_name).second) {
            throw StartupError(EX_CONFIG, "two inputs use the device " + device.port_name +
                                              "; give each device one input with several queues");
        }
    }
}

std::string cpu_list(const std::vector<std::uint32_t>& cpus) {
    std::string list;
    for (const std::uint32_t cpu : cpus) {
        list += list.empty() ? "" : ",";
        list += std::to_string(cpu);
    }
    return list;
}

std::string what_dpdk_says(const EalLog& log) {
    const std::string line = log.first_line();
    return line.empty() ? "" : " (DPDK: " + line + ")";
}

/// Why a PCI device became no port.
StartupError pci_refusal(const EalDevice& device, const EalLog& log) {
    const fs::path folder = "/sys/bus/pci/devices/" + device.port_name;
    std::error_code error;
    if (!fs::exists(folder, error)) {
        return {EX_UNAVAILABLE,
                "no PCI device " + device.port_name + " in this machine; lspci -D lists them"};
    }
    const std::string driver = fs::read_symlink(folder / "driver", error).filename();
    if (driver != "vfio-pci") {
        return {EX_UNAVAILABLE,
                "DPDK has no driver for PCI device " + device.port_name + ", which is bound to " +
                    (driver.empty() ? "no kernel driver" : driver) + what_dpdk_says(log) +
                    "; most NICs need: dpdk-devbind.py -b vfio-pci " + device.port_name};
    }
    return {EX_NOPERM, "DPDK can't use PCI device " + device.port_name + what_dpdk_says(log) +
                           "; it is bound to vfio-pci: check the permissions of /dev/vfio/*, the "
                           "limit of locked memory (ulimit -l), and that no other process has it"};
}

/// Why a virtual device became no port.
StartupError virtual_refusal(const EalDevice& device, const EalLog& log) {
    if (!device.kernel_interface.empty() && if_nametoindex(device.kernel_interface.c_str()) == 0) {
        return {EX_UNAVAILABLE, "no network interface " + device.kernel_interface +
                                    " in this network namespace; ip link lists them"};
    }
    if (!device.kernel_interface.empty() && geteuid() != 0) {
        return {EX_NOPERM, "can't open network interface " + device.kernel_interface +
                               what_dpdk_says(log) +
                               "; without root it needs CAP_NET_RAW, CAP_NET_ADMIN, and "
                               "CAP_IPC_LOCK or unlimited locked memory (ulimit -l)"};
    }
    return {EX_UNAVAILABLE, "DPDK made no port of device " + device.argument + what_dpdk_says(log)};
}

/// DPDK makes this folder even to keep nothing in it. By its file prefix it belongs to this
/// process; the other folders of DPDK programs stay.
void remove_runtime_folder() {
    std::error_code error;
    fs::remove_all(rte_eal_get_runtime_dir(), error);
}

StartupError init_refusal(const EalOptions& options, const EalLog& log) {
    for (const EalDevice& device : options.devices) {
        const bool bare = !device.is_pci && device.argument == device.port_name;
        if (bare && if_nametoindex(device.port_name.c_str()) != 0) {
            return {EX_CONFIG,
                    "device " + device.port_name +
                        " is an interface of the kernel; write af_packet:" + device.port_name};
        }
    }
    return {EX_UNAVAILABLE, std::string("DPDK does not start: ") +
                                (rte_errno != 0 ? rte_strerror(rte_errno) : "no reason given") +
                                what_dpdk_says(log)};
}

}  // namespace

std::vector<std::string> eal_arguments(const EalOptions& options, std::uint64_t huge_page_bytes) {
    refuse_duplicates(options);
    std::vector<std::string> arguments{
        "tributaryd",        "--lcores=0@(" + cpu_list(options.main_cpus) + ")",
        "--iova-mode=va",    options.has_telemetry ? "--telemetry" : "--no-telemetry",
        "--log-level=error", "--file-prefix=tributary-" + std::to_string(getpid())};
    if (enough_huge_pages(options, huge_page_bytes)) {
        // The pages are anonymous memory, not files of a hugetlbfs. DPDK would still lock the
        // folder of a mounted hugetlbfs, which needs the right to read it, and remove other
        // processes' files there. So it gets a folder that does not exist.
        arguments.insert(arguments.end(), {"--in-memory", "--huge-dir=/nonexistent/hugetlbfs"});
    } else {
        // --no-huge refuses --in-memory; --no-shconf is the part of it that is allowed.
        const std::uint64_t mebibytes = ordinary_bytes(options) >> 20U;
        arguments.insert(arguments.end(),
                         {"--no-huge", "--no-shconf", "-m", std::to_string(mebibytes + 1)});
    }
    for (const EalDevice& device : options.devices) {
        arguments.push_back((device.is_pci ? "--allow=" : "--vdev=") + device.argument);
    }
    if (std::none_of(options.devices.begin(), options.devices.end(),
                     [](const EalDevice& device) { return device.is_pci; })) {
        arguments.emplace_back("--no-pci");
    }
    return arguments;
}

Eal::Eal(const EalOptions& options) {
    const std::uint64_t huge = free_huge_page_bytes();
    std::vector<std::string> arguments = eal_arguments(options, huge);
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    huge_pages_ = enough_huge_pages(options, huge);
    if (!huge_pages_) {
        spdlog::info(
            "{} MiB free in huge pages, packet buffers and DPDK itself need {} MiB: they get "
            "ordinary memory, which is slower",
            huge >> 20U, (options.memory_bytes + kEalOwnMemory) >> 20U);
        if (ordinary_bytes(options) > available_memory()) {
            throw StartupError(
                EX_OSERR, fmt::format("packet buffers need {} MiB, {} MiB are free; queues, "
                                      "rx-descriptors and mempool-size decide how much",
                                      ordinary_bytes(options) >> 20U, available_memory() >> 20U));
        }
    }
    const std::lock_guard lock(dpdk_start_mutex());
    if (rte_eal_init(static_cast<int>(arguments.size()), argv.data()) < 0) {
        remove_runtime_folder();
        throw init_refusal(options, log_);
    }
}

Eal::~Eal() {
    rte_eal_cleanup();
    remove_runtime_folder();
}

EthPortId Eal::port_of(const EalDevice& device) const {
    std::uint16_t port = 0;
    if (rte_eth_dev_get_port_by_name(device.port_name.c_str(), &port) != 0) {
        throw device.is_pci ? pci_refusal(device, log_) : virtual_refusal(device, log_);
    }
    return EthPortId{port};
}

EthPortId Eal::plug_anew(const EalDevice& device) const {
    const std::size_t comma = device.argument.find(',');
    const std::string arguments =
        comma == std::string::npos ? std::string() : device.argument.substr(comma + 1);
    rte_eal_hotplug_remove("vdev", device.port_name.c_str());  // it may be gone already
    if (rte_eal_hotplug_add("vdev", device.port_name.c_str(), arguments.c_str()) != 0) {
        throw virtual_refusal(device, log_);
    }
    return port_of(device);
}

}  // namespace tributary
