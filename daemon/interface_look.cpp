// SPDX-License-Identifier: Apache-2.0
#include "daemon/interface_look.hpp"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "export/socket.hpp"

namespace tributary {
namespace {

/// More than the kernel's answer for one interface, without its virtual functions.
constexpr std::size_t kAnswerOctets = 32'768;

/// A structure of netlink, copied out of a message; nothing: the message ends before.
template <class Structure>
std::optional<Structure> structure_at(std::span<const std::byte> message, std::size_t offset) {
    if (message.size() < offset || message.size() - offset < sizeof(Structure)) {
        return std::nullopt;
    }
    Structure copy{};
    std::memcpy(&copy, message.data() + offset, sizeof copy);
    return copy;
}

/// The answer to RTM_GETLINK; empty: there was none.
std::vector<std::byte> ask_for_link(unsigned index) {
    struct Request {
        nlmsghdr header;
        ifinfomsg interface;
    };
    Request request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = RTM_GETLINK;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.interface.ifi_family = AF_UNSPEC;
    request.interface.ifi_index = static_cast<int>(index);
    const FileDescriptor netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!netlink || send(netlink.get(), &request, sizeof request, 0) != sizeof request) {
        return {};
    }
    std::vector<std::byte> answer(kAnswerOctets);
    const ssize_t octets = recv(netlink.get(), answer.data(), answer.size(), 0);
    answer.resize(octets < 0 ? 0 : static_cast<std::size_t>(octets));
    return answer;
}

/// A counter of IFLA_STATS64, which is among the attributes behind a message's ifinfomsg; 0: the
/// kernel does not have it.
///
/// @param offset  of the counter in rtnl_link_stats64
std::uint64_t counter_of(std::span<const std::byte> message, std::size_t offset) {
    std::size_t at = NLMSG_LENGTH(sizeof(ifinfomsg));
    for (;;) {
        const rtattr attribute = structure_at<rtattr>(message, at).value_or(rtattr{});
        if (attribute.rta_len < sizeof(rtattr)) {
            return 0;  // the message ends
        }
        if (attribute.rta_type == IFLA_STATS64) {
            // A kernel may know fewer counters than this header.
            const bool has_it = attribute.rta_len >= RTA_LENGTH(offset + sizeof(std::uint64_t));
            return has_it
                       ? structure_at<std::uint64_t>(message, at + RTA_LENGTH(offset)).value_or(0)
                       : 0;
        }
        at += RTA_ALIGN(attribute.rta_len);
    }
}

}  // namespace

InterfaceLook look_at_interface(unsigned index) {
    const std::vector<std::byte> answer = ask_for_link(index);
    const auto header = structure_at<nlmsghdr>(answer, 0);
    if (header && header->nlmsg_type == NLMSG_ERROR) {
        const auto error = structure_at<nlmsgerr>(answer, NLMSG_HDRLEN);
        return {.presence = error && error->error == -ENODEV ? InterfaceLook::Presence::gone
                                                             : InterfaceLook::Presence::unknown};
    }
    const auto interface = structure_at<ifinfomsg>(answer, NLMSG_HDRLEN);
    if (!header || header->nlmsg_type != RTM_NEWLINK || !interface) {
        return {};
    }
    const bool running =
        (interface->ifi_flags & IFF_UP) != 0 && (interface->ifi_flags & IFF_RUNNING) != 0;
    return {.presence = InterfaceLook::Presence::there,
            .running = running,
            .received = counter_of(answer, offsetof(rtnl_link_stats64, rx_packets)),
            .missed = counter_of(answer, offsetof(rtnl_link_stats64, rx_missed_errors))};
}

}  // namespace tributary
