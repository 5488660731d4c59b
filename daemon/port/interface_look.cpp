// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/interface_look.hpp"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "export/file_descriptor.hpp"

namespace tributary {
namespace {

/// More than the kernel's answer for one interface, without its virtual functions.
constexpr std::size_t kAnswerOctets = 32'768;

/// A structure of netlink, copied out of a message; nullopt: the message is too short.
template <class Structure>
std::optional<Structure> structure_at(std::span<const std::byte> message, std::size_t offset) {
    if (message.size() < offset || message.size() - offset < sizeof(Structure)) {
        return std::nullopt;
    }
    Structure copy{};
    std::memcpy(&copy, message.data() + offset, sizeof copy);
    return copy;
}

/// The answer to RTM_GETLINK; empty: none.
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

/// The payload of the first attribute of a type; empty: none.
std::span<const std::byte> attribute_of(std::span<const std::byte> attributes, unsigned type) {
    for (;;) {
        const rtattr attribute = structure_at<rtattr>(attributes, 0).value_or(rtattr{});
        if (attribute.rta_len < sizeof(rtattr) || attribute.rta_len > attributes.size()) {
            return {};  // they end
        }
        if ((attribute.rta_type & NLA_TYPE_MASK) == type) {
            return attributes.subspan(RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0));
        }
        const std::size_t step = RTA_ALIGN(attribute.rta_len);
        attributes = attributes.subspan(std::min(step, attributes.size()));
    }
}

/// The attributes behind a message's ifinfomsg.
std::span<const std::byte> attributes_of(std::span<const std::byte> message) {
    return message.subspan(std::min(message.size(), std::size_t{NLMSG_LENGTH(sizeof(ifinfomsg))}));
}

/// A counter of IFLA_STATS64; 0: missing, as in a kernel older than this header.
///
/// @param offset  of the counter in rtnl_link_stats64
std::uint64_t counter_of(std::span<const std::byte> message, std::size_t offset) {
    return structure_at<std::uint64_t>(attribute_of(attributes_of(message), IFLA_STATS64), offset)
        .value_or(0);
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

std::optional<VethPeer> veth_peer_of(unsigned index) {
    const std::vector<std::byte> answer = ask_for_link(index);
    const auto header = structure_at<nlmsghdr>(answer, 0);
    if (!header || header->nlmsg_type != RTM_NEWLINK) {
        return std::nullopt;
    }
    const std::span<const std::byte> attributes = attributes_of(answer);
    const auto kind = attribute_of(attribute_of(attributes, IFLA_LINKINFO), IFLA_INFO_KIND);
    constexpr std::string_view kVeth = "veth";
    const auto peer = structure_at<std::uint32_t>(attribute_of(attributes, IFLA_LINK), 0);
    if (!peer || kind.size() < kVeth.size() ||
        std::memcmp(kind.data(), kVeth.data(), kVeth.size()) != 0) {
        return std::nullopt;
    }
    return VethPeer{.index = *peer,
                    .is_elsewhere = !attribute_of(attributes, IFLA_LINK_NETNSID).empty()};
}

}  // namespace tributary
