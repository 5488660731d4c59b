// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/device.hpp"

#include <net/if.h>
#include <sysexits.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <regex>
#include <string_view>

#include "daemon/base/startup_error.hpp"
#include "daemon/machine/kernel_interface.hpp"

namespace tributary {
namespace {

constexpr std::string_view kAfPacket = "af_packet:";
constexpr std::string_view kAfXdp = "af_xdp:";

// Ethernet header, two VLAN tags and the FCS that some drivers keep.
constexpr std::uint32_t kLinkLayerOctets = 14 + 2 * 4 + 4;

// The kernel's ring has blocks of frames. The kernel uses so much of each frame, and the driver
// assumes that frames fill a block without a gap: their size must be a power of two.
constexpr std::uint32_t kAfPacketBlock = 65536;
constexpr std::uint32_t kAfPacketFrameOverhead = 66;
// Room for a burst while its reader is not scheduled: less lost packets at 100,000 per second.
constexpr std::uint32_t kAfPacketRingOctets = 32U << 20U;

std::uint32_t af_packet_frame_octets(std::uint16_t mtu) {
    return std::max(2048U, std::bit_ceil(mtu + kLinkLayerOctets + kAfPacketFrameOverhead));
}

std::string interface_name(const PortOptions& wanted, std::string_view scheme) {
    std::string name = wanted.device.substr(scheme.size());
    if (name.empty() || name.size() >= IFNAMSIZ || name.find_first_of(", /") != std::string::npos) {
        throw StartupError(EX_CONFIG, "device \"" + wanted.device + "\": after \"" +
                                          std::string(scheme) +
                                          "\" comes the name of a network interface, such as eth0");
    }
    return name;
}

EalDevice af_packet_device(const PortOptions& wanted, std::size_t position) {
    const std::string interface = interface_name(wanted, kAfPacket);
    const std::string port = "net_af_packet" + std::to_string(position);
    const std::uint32_t frame = af_packet_frame_octets(wanted.mtu);
    return {.port_name = port,
            .argument = port + ",iface=" + interface + ",qpairs=" + std::to_string(wanted.queues) +
                        ",blocksz=" + std::to_string(kAfPacketBlock) +
                        ",framesz=" + std::to_string(frame) +
                        ",framecnt=" + std::to_string(kAfPacketRingOctets / frame),
            .kernel_interface = interface};
}

EalDevice af_xdp_device(const PortOptions& wanted, std::size_t position) {
    const std::string interface = interface_name(wanted, kAfXdp);
    const std::string port = "net_af_xdp" + std::to_string(position);
    return {
        .port_name = port,
        .argument = port + ",iface=" + interface + ",queue_count=" + std::to_string(wanted.queues),
        .kernel_interface = interface};
}

/// `[domain:]bus:device.function[,devargs]`, as DPDK and lspci write it.
std::optional<EalDevice> pci_device(const std::string& device) {
    static const std::regex pattern(
        "(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7])(,.*)?");
    std::smatch match;
    if (!std::regex_match(device, match, pattern)) {
        return std::nullopt;
    }
    std::string address = (match[1].matched ? match[1].str() : "0000") + ":" + match[2].str();
    std::transform(address.begin(), address.end(), address.begin(), [](char c) {
        return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return EalDevice{.port_name = address,
                     .argument = address + match[3].str(),
                     .is_pci = true,
                     .kernel_interface = {}};
}

EalDevice vdev_device(const std::string& device) {
    static const std::regex interface("[,](?:rx_)?iface(?:_in)?=([^,]+)");
    std::smatch match;
    const bool found = std::regex_search(device, match, interface);
    return {.port_name = device.substr(0, device.find(',')),
            .argument = device,
            .kernel_interface = found ? match[1].str() : std::string()};
}

}  // namespace

EalDevice eal_device(const PortOptions& wanted, std::size_t position) {
    if (wanted.device.empty()) {
        throw StartupError(EX_CONFIG,
                           "an input has no device: give a PCI address, af_packet:IFNAME, "
                           "af_xdp:IFNAME or a DPDK vdev string");
    }
    if (wanted.device.starts_with(kAfPacket)) {
        return af_packet_device(wanted, position);
    }
    if (wanted.device.starts_with(kAfXdp)) {
        return af_xdp_device(wanted, position);
    }
    const std::optional<EalDevice> pci = pci_device(wanted.device);
    return pci ? *pci : vdev_device(wanted.device);
}

InputOptions with_mtu(const InputOptions& input, std::uint32_t interface_mtu) {
    // An AF_XDP buffer lies in one page together with DPDK's data around it: 3072 octets are left.
    constexpr std::uint32_t kMostAfXdp = 3072 - kLinkLayerOctets;
    constexpr std::uint32_t kMost = 16000;
    InputOptions result = input;
    if (input.mtu == 0) {
        std::uint32_t most = kUsualMtu;
        if (input.device.starts_with(kAfPacket)) {
            most = kMost;
        } else if (input.device.starts_with(kAfXdp)) {
            most = kMostAfXdp;
        }
        result.mtu =
            static_cast<std::uint16_t>(std::clamp<std::uint32_t>(interface_mtu, kUsualMtu, most));
    }
    return result;
}

InputOptions with_mtu_of_interface(const InputOptions& input) {
    return with_mtu(input, read_mtu(eal_device(input, 0).kernel_interface));
}

std::uint32_t octets_of_cut_frame(const EalDevice& device, const std::string& driver) {
    if (driver == "net_pcap") {
        return 0;
    }
    if (driver != "net_af_packet") {
        return UINT32_MAX;
    }
    constexpr std::uint32_t kDriversFrame = 2048;
    static const std::regex frame_size(",framesz=([0-9]{1,9})(,|$)");
    std::smatch match;
    const std::uint32_t frame = std::regex_search(device.argument, match, frame_size)
                                    ? static_cast<std::uint32_t>(std::stoul(match[1]))
                                    : kDriversFrame;
    return frame - std::min(frame, kAfPacketFrameOverhead);
}

std::uint16_t buffer_octets(const PortOptions& port) {
    if (port.device.starts_with(kAfPacket)) {
        return static_cast<std::uint16_t>(af_packet_frame_octets(port.mtu));
    }
    // Several NICs take buffer sizes in whole KiB only, and round down.
    constexpr std::uint32_t kStep = 1024;
    const std::uint32_t frame = port.mtu + kLinkLayerOctets;
    return static_cast<std::uint16_t>(std::max(2048U, (frame + kStep - 1) / kStep * kStep));
}

}  // namespace tributary
