// SPDX-License-Identifier: Apache-2.0
#include "daemon/kernel_interface.hpp"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace tributary {

KernelInterfaceState read_kernel_interface(const std::string& name) {
    // Not /sys/class/net: that shows the namespace which mounted it, not ours.
    const int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) {
        return {};
    }
    ifreq request{};
    std::copy_n(name.begin(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
    const bool known = ioctl(socket_fd, SIOCGIFFLAGS, &request) == 0;
    close(socket_fd);
    if (!known) {
        return {};
    }
    const auto flags = static_cast<unsigned>(request.ifr_flags);
    return {.running = (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0,
            .promiscuous = (flags & IFF_PROMISC) != 0};
}

}  // namespace tributary
