// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/kernel_interface.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace tributary {

namespace {

/// Asks the kernel about an interface. /sys/class/net is no alternative: it shows the namespace
/// that mounted it, not ours.
bool ask_kernel(const std::string& name, unsigned long what, ifreq& request) {
    const int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) {
        return false;
    }
    std::copy_n(name.begin(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
    const bool known = ioctl(socket_fd, what, &request) == 0;
    close(socket_fd);
    return known;
}

}  // namespace

KernelInterfaceState read_kernel_interface(const std::string& name) {
    ifreq request{};
    if (!ask_kernel(name, SIOCGIFFLAGS, request)) {
        return {};
    }
    const auto flags = static_cast<unsigned>(request.ifr_flags);
    return {.running = (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0,
            .promiscuous = (flags & IFF_PROMISC) != 0};
}

std::uint32_t read_mtu(const std::string& name) {
    ifreq request{};
    return ask_kernel(name, SIOCGIFMTU, request)
               ? static_cast<std::uint32_t>(std::max(request.ifr_mtu, 0))
               : 0;
}

std::vector<std::string> read_joining_offloads(const std::string& name) {
    struct Offload {
        const char* name;
        std::uint32_t command;
        std::uint32_t bit;  ///< in the answer
    };
    constexpr std::array<Offload, 4> kOffloads{{{"gro", ETHTOOL_GGRO, 1},
                                                {"lro", ETHTOOL_GFLAGS, ETH_FLAG_LRO},
                                                {"gso", ETHTOOL_GGSO, 1},
                                                {"tso", ETHTOOL_GTSO, 1}}};
    std::vector<std::string> found;
    for (const Offload& offload : kOffloads) {
        ethtool_value value{};
        value.cmd = offload.command;
        ifreq request{};
        request.ifr_data = reinterpret_cast<char*>(&value);
        if (ask_kernel(name, SIOCETHTOOL, request) && (value.data & offload.bit) != 0) {
            found.emplace_back(offload.name);
        }
    }
    return found;
}

std::uint32_t read_receive_queues(const std::string& name) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    request.ifr_data = reinterpret_cast<char*>(&channels);
    return ask_kernel(name, SIOCETHTOOL, request) ? channels.combined_count + channels.rx_count : 0;
}

}  // namespace tributary
