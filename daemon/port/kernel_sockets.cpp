// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/kernel_sockets.hpp"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace tributary {
namespace {

/// Descriptors of this process.
std::vector<int> open_descriptors() {
    std::vector<int> descriptors;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
        const std::string name = entry.path().filename();
        int descriptor = -1;
        const auto [end, fault] =
            std::from_chars(name.data(), name.data() + name.size(), descriptor);
        if (fault == std::errc{} && *end == '\0') {
            descriptors.push_back(descriptor);
        }
    }
    return descriptors;
}

/// AF_...; nullopt: not a socket.
std::optional<int> family_of(int descriptor) {
    int family = 0;
    socklen_t size = sizeof family;
    if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) {
        return std::nullopt;
    }
    return family;
}

/// 0 or less: bound to none, or not any more.
int bound_interface(int descriptor) {
    sockaddr_ll address{};
    socklen_t size = sizeof address;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return -1;
    }
    return address.sll_ifindex;
}

/// Whether it is a socket of net_af_packet: libpcap, for net_pcap, leaves PACKET_LOSS off.
bool is_of_af_packet(int descriptor, unsigned interface_index) {
    int is_lossy = 0;
    socklen_t size = sizeof is_lossy;
    return family_of(descriptor) == AF_PACKET &&
           bound_interface(descriptor) == static_cast<int>(interface_index) &&
           getsockopt(descriptor, SOL_PACKET, PACKET_LOSS, &is_lossy, &size) == 0 && is_lossy != 0;
}

/// The sockets that fulfil `is_wanted` and have one descriptor: a found socket gets a second one,
/// so it is not found again. Sorted by descriptor: a driver opens its sockets one after the other,
/// and each gets the lowest free number.
std::vector<int> lone_sockets(const std::function<bool(int)>& is_wanted) {
    std::map<ino_t, std::vector<int>> by_inode;
    for (const int descriptor : open_descriptors()) {
        struct stat facts {};
        if (fstat(descriptor, &facts) == 0 && S_ISSOCK(facts.st_mode) && is_wanted(descriptor)) {
            by_inode[facts.st_ino].push_back(descriptor);
        }
    }
    std::vector<int> lone;
    for (const auto& [inode, descriptors] : by_inode) {
        if (descriptors.size() == 1) {
            lone.push_back(descriptors.front());
        }
    }
    std::ranges::sort(lone);
    return lone;
}

std::optional<std::vector<FileDescriptor>> first_of(const std::vector<int>& found,
                                                    std::size_t count) {
    if (found.size() < count) {
        return std::nullopt;
    }
    std::vector<FileDescriptor> own;
    for (std::size_t i = 0; i < count; ++i) {
        own.emplace_back(fcntl(found[i], F_DUPFD_CLOEXEC, 0));
        if (own.back().get() < 0) {
            return std::nullopt;
        }
    }
    return own;
}

/// Since the last call; tp_packets includes the dropped packets.
tpacket_stats packet_statistics(int descriptor) {
    tpacket_stats statistics{};
    socklen_t size = sizeof statistics;
    return getsockopt(descriptor, SOL_PACKET, PACKET_STATISTICS, &statistics, &size) == 0
               ? statistics
               : tpacket_stats{};
}

/// Since the socket was made; nullopt: the kernel does not report it. The count for an empty fill
/// ring is not in packets: in copy mode each such packet is in rx_dropped, in zero-copy mode the
/// NIC counts packets without a buffer.
std::optional<std::uint64_t> xdp_drops(int descriptor) {
    xdp_statistics statistics{};
    socklen_t size = sizeof statistics;
    if (getsockopt(descriptor, SOL_XDP, XDP_STATISTICS, &statistics, &size) != 0) {
        return std::nullopt;
    }
    return statistics.rx_dropped + statistics.rx_ring_full;
}

}  // namespace

KernelSockets::KernelSockets(int family, unsigned interface_index,
                             std::vector<FileDescriptor> sockets)
    : family_(family),
      interface_index_(interface_index),
      sockets_(std::move(sockets)),
      drops_(sockets_.size()) {}

std::optional<KernelSockets> KernelSockets::find_packet(unsigned interface_index,
                                                        std::size_t queues) {
    auto own = first_of(
        lone_sockets([&](int descriptor) { return is_of_af_packet(descriptor, interface_index); }),
        queues);
    return own ? std::optional(KernelSockets(AF_PACKET, interface_index, std::move(*own)))
               : std::nullopt;
}

std::optional<KernelSockets> KernelSockets::find_xdp(std::size_t queues) {
    auto own = first_of(
        lone_sockets([](int descriptor) { return family_of(descriptor) == AF_XDP; }), queues);
    return own ? std::optional(KernelSockets(AF_XDP, 0, std::move(*own))) : std::nullopt;
}

const std::vector<std::uint64_t>& KernelSockets::read_drops() {
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        if (family_ == AF_PACKET) {
            const tpacket_stats grown = packet_statistics(sockets_[i].get());
            drops_[i] += grown.tp_drops;
            packets_ += grown.tp_packets;
        } else {
            drops_[i] = xdp_drops(sockets_[i].get()).value_or(drops_[i]);
        }
    }
    return drops_;
}

std::optional<std::uint64_t> KernelSockets::read_packets() {
    static_cast<void>(read_drops());
    return family_ == AF_PACKET ? std::optional(packets_) : std::nullopt;
}

bool KernelSockets::are_bound() const {
    return family_ != AF_PACKET || std::ranges::all_of(sockets_, [&](const FileDescriptor& socket) {
               return bound_interface(socket.get()) == static_cast<int>(interface_index_);
           });
}

}  // namespace tributary
