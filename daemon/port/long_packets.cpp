// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/long_packets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>

#include <array>
#include <optional>
#include <utility>

#include "daemon/machine/device.hpp"
#include "daemon/machine/kernel_interface.hpp"
#include "daemon/port/interface_look.hpp"

namespace tributary {
namespace {

/// Packets joined by the other end of a veth pair arrive joined: the receiving end's offloads do
/// not change that.
///
/// @param offloads_here  of the receiving end. Those of the other end in another network namespace
///                       cannot be read; with none here, none are assumed there
std::optional<std::string> warning_of_veth_peer(const std::string& input,
                                                const std::string& interface, const char* fate,
                                                bool offloads_here) {
    const auto peer = veth_peer_of(if_nametoindex(interface.c_str()));
    if (!peer) {
        return std::nullopt;
    }
    if (peer->is_elsewhere) {
        return offloads_here
                   ? std::optional(fmt::format(
                         "input {}: {} is one end of a veth pair; where its other end, interface "
                         "{} of another network namespace, has tso or gso on, it sends packets "
                         "joined, and those longer than the buffers are {}; ip link names it "
                         "there: ethtool -K NAME tso off gso off",
                         input, interface, peer->index, fate))
                   : std::nullopt;
    }
    std::array<char, IF_NAMESIZE> name{};
    if (if_indextoname(peer->index, name.data()) == nullptr) {
        return std::nullopt;
    }
    std::vector<std::string> offloads = read_joining_offloads(name.data());
    // Offloads of the receiving side do not join packets sent by the other end.
    std::erase_if(offloads,
                  [](const std::string& offload) { return offload == "gro" || offload == "lro"; });
    if (offloads.empty()) {
        return std::nullopt;
    }
    return fmt::format(
        "input {}: {} is one end of a veth pair, and its other end {} sends packets joined ({}): "
        "such packets count as one, and those longer than the buffers are {}; ethtool -K {} {} off",
        input, interface, name.data(), fmt::join(offloads, ", "), fate, name.data(),
        fmt::join(offloads, " off "));
}

}  // namespace

std::vector<std::string> warnings_of_long_packets(const InputOptions& input,
                                                  const std::string& driver,
                                                  const std::string& interface) {
    const bool cuts = driver == "net_af_packet";
    if (!cuts && driver != "net_af_xdp") {
        return {};
    }
    std::vector<std::string> warnings;
    const char* const fate = cuts ? "cut" : "not received";
    if (const std::uint32_t mtu = read_mtu(interface); mtu > mtu_of(input)) {
        warnings.push_back(fmt::format(
            "input {}: its buffers hold packets of {} octets (mtu), but {} has an mtu of {}: "
            "longer packets are {}",
            input.name, mtu_of(input), interface, mtu, fate));
    }
    const std::vector<std::string> offloads = read_joining_offloads(interface);
    if (!offloads.empty()) {
        warnings.push_back(fmt::format(
            "input {}: {} has offloads on that join packets, or leave them uncut ({}): such "
            "packets count as one, and those longer than the buffers are {}; ethtool -K {} {} off",
            input.name, interface, fmt::join(offloads, ", "), fate, interface,
            fmt::join(offloads, " off ")));
    }
    if (auto warning = warning_of_veth_peer(input.name, interface, fate, !offloads.empty())) {
        warnings.push_back(std::move(*warning));
    }
    return warnings;
}

std::optional<std::string> LongFramesWatch::look(const Counts& counts, Clock::time_point now) {
    const std::uint64_t cut = counts.cut - reported_.cut;
    const std::uint64_t unknown = counts.length_unknown - reported_.length_unknown;
    if (cut + unknown == 0 || (reported_at_ && now - *reported_at_ < kRepeatAfter)) {
        return std::nullopt;
    }
    reported_ = counts;
    reported_at_ = now;
    return fmt::format(
        "{} frames were longer than their buffers (inputs[].mtu) and were cut: {} have the length "
        "that they announce (frames_cut), {} announce none and count with the received length "
        "(length_unknown); offloads join packets so: see the warnings at the start about this "
        "interface and the other end of a veth",
        cut + unknown, cut, unknown);
}

}  // namespace tributary
