// SPDX-License-Identifier: Apache-2.0
#include "daemon/plan/known_devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tributary {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPciDevices = "/sys/bus/pci/devices";

/// Of this network namespace, sorted.
std::vector<std::string> interfaces() {
    const std::unique_ptr<struct if_nameindex, void (*)(struct if_nameindex*)> list(
        ::if_nameindex(), ::if_freenameindex);
    std::vector<std::string> names;
    for (const struct if_nameindex* each = list.get(); each != nullptr && each->if_index != 0;
         ++each) {
        names.emplace_back(each->if_name);
    }
    std::ranges::sort(names);
    return names;
}

/// Addresses of network controllers, sorted.
std::vector<std::string> network_controllers() {
    std::vector<std::string> addresses;
    std::error_code error;  // without PCI there is no such folder
    for (const auto& device : fs::directory_iterator(kPciDevices, error)) {
        std::string kind;
        std::ifstream(device.path() / "class") >> kind;
        if (kind.starts_with("0x02")) {
            addresses.push_back(device.path().filename());
        }
    }
    std::ranges::sort(addresses);
    return addresses;
}

/// Drivers that take an existing interface; others make theirs.
bool takes_interface(const EalDevice& device) {
    constexpr std::array<std::string_view, 3> kDrivers{"net_af_packet", "net_af_xdp", "net_pcap"};
    return !device.kernel_interface.empty() &&
           std::ranges::any_of(kDrivers, [&device](std::string_view driver) {
               return device.port_name.starts_with(driver);
           });
}

std::string listed(const std::vector<std::string>& names) {
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string lack_of_device(const EalDevice& device) {
    std::error_code error;
    if (device.is_pci && !fs::exists(fs::path(kPciDevices) / device.port_name, error)) {
        return fmt::format("this machine has no PCI device {} now; its network controllers: {}",
                           device.port_name, listed(network_controllers()));
    }
    if (takes_interface(device) && ::if_nametoindex(device.kernel_interface.c_str()) == 0) {
        return fmt::format("this machine has no interface {} now; its interfaces: {}",
                           device.kernel_interface, listed(interfaces()));
    }
    return {};
}

}  // namespace tributary
