// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_interface.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace tributary {

namespace {

/// Asks the kernel about an interface. Not by /sys/class/net: that shows the namespace which
/// mounted it, not ours.
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

std::uint32_t read_receive_queues(const std::string& name) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    request.ifr_data = reinterpret_cast<char*>(&channels);
    return ask_kernel(name, SIOCETHTOOL, request) ? channels.combined_count + channels.rx_count : 0;
}

}  // namespace tributary
