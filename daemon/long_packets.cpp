// SPDX-License-Identifier: Apache-2.0
#include "daemon/long_packets.hpp"

#include <fmt/format.h>

#include "daemon/device.hpp"
#include "daemon/kernel_interface.hpp"

namespace tributary {

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
    return warnings;
}

}  // namespace tributary
