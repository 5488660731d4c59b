// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/device.hpp"

#include <catch2/catch.hpp>

#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

InputOptions input(const std::string& device, std::uint16_t queues = 1, std::uint16_t mtu = 1500) {
    InputOptions options;
    options.device = device;
    options.queues = queues;
    options.mtu = mtu;
    return options;
}

TEST_CASE("eal_device: a PCI address with and without domain is the same port", "[daemon][unit]") {
    for (const std::string address : {"0000:81:00.0", "81:00.0"}) {
        const EalDevice device = eal_device(input(address), 0);
        CHECK(device.is_pci);
        CHECK(device.port_name == "0000:81:00.0");
        CHECK(device.argument == "0000:81:00.0");
        CHECK(device.kernel_interface.empty());
    }
}

TEST_CASE("eal_device: a PCI address keeps its driver arguments, its name is in lower case",
          "[daemon][unit]") {
    const EalDevice device = eal_device(input("0000:AF:00.1,rx_vec_en=0"), 0);
    CHECK(device.port_name == "0000:af:00.1");
    CHECK(device.argument == "0000:af:00.1,rx_vec_en=0");
}

TEST_CASE("eal_device: what is almost a PCI address is no PCI device", "[daemon][unit]") {
    CHECK_FALSE(eal_device(input("0000:81:00.8"), 0).is_pci);
    CHECK_FALSE(eal_device(input("81:00"), 0).is_pci);
}

TEST_CASE("eal_device: af_packet gets the ring that lost nothing", "[daemon][unit]") {
    const EalDevice device = eal_device(input("af_packet:eth1", 4), 2);
    CHECK_FALSE(device.is_pci);
    CHECK(device.port_name == "net_af_packet2");
    CHECK(device.argument ==
          "net_af_packet2,iface=eth1,qpairs=4,blocksz=65536,framesz=2048,framecnt=16384");
    CHECK(device.kernel_interface == "eth1");
}

TEST_CASE("eal_device: af_packet, a large mtu, larger frames in a ring of the same memory",
          "[daemon][unit]") {
    CHECK(eal_device(input("af_packet:eth1", 1, 9000), 0).argument ==
          "net_af_packet0,iface=eth1,qpairs=1,blocksz=65536,framesz=16384,framecnt=2048");
    CHECK(eal_device(input("af_packet:eth1", 1, 16000), 0).argument ==
          "net_af_packet0,iface=eth1,qpairs=1,blocksz=65536,framesz=16384,framecnt=2048");
}

TEST_CASE("eal_device: af_xdp, its interface and queue count", "[daemon][unit]") {
    const EalDevice device = eal_device(input("af_xdp:eth1", 2), 1);
    CHECK(device.port_name == "net_af_xdp1");
    CHECK(device.argument == "net_af_xdp1,iface=eth1,queue_count=2");
    CHECK(device.kernel_interface == "eth1");
}

TEST_CASE("eal_device: any other string is a vdev as it is", "[daemon][unit]") {
    const EalDevice file = eal_device(input("net_pcap0,rx_pcap=a.pcap,rx_pcap=b.pcap"), 3);
    CHECK_FALSE(file.is_pci);
    CHECK(file.port_name == "net_pcap0");
    CHECK(file.argument == "net_pcap0,rx_pcap=a.pcap,rx_pcap=b.pcap");
    CHECK(file.kernel_interface.empty());

    CHECK(eal_device(input("net_pcap1,rx_iface=eth2"), 0).kernel_interface == "eth2");
    CHECK(eal_device(input("net_pcap1,rx_iface_in=eth3"), 0).kernel_interface == "eth3");
    CHECK(eal_device(input("net_tap0,iface=tap0,mac=fixed"), 0).kernel_interface == "tap0");
}

TEST_CASE("eal_device: no device, or a scheme without an interface name, is a configuration error",
          "[daemon][unit]") {
    for (const std::string device :
         {"", "af_packet:", "af_xdp:", "af_packet:a-name-above-15-chars", "af_packet:eth0,x=1"}) {
        INFO(device);
        try {
            (void)eal_device(input(device), 0);
            FAIL("accepted");
        } catch (const StartupError& error) {
            CHECK(error.exit_code() == 78);
        }
    }
}

TEST_CASE("buffer_octets: a frame of the mtu with two tags fits, in whole KiB", "[daemon][unit]") {
    CHECK(buffer_octets(port_of(input("0000:81:00.0", 1, 68))) == 2048);
    CHECK(buffer_octets(port_of(input("0000:81:00.0", 1, 1500))) == 2048);
    CHECK(buffer_octets(port_of(input("0000:81:00.0", 1, 2022))) == 2048);
    CHECK(buffer_octets(port_of(input("0000:81:00.0", 1, 2023))) == 3072);
    CHECK(buffer_octets(port_of(input("0000:81:00.0", 1, 9000))) == 9216);
    CHECK(buffer_octets(port_of(input("0000:81:00.0", 1, 16000))) == 16384);
}

TEST_CASE("buffer_octets: af_packet fills buffers by its frame size", "[daemon][unit]") {
    CHECK(buffer_octets(port_of(input("af_packet:eth0", 1, 1500))) == 2048);
    CHECK(buffer_octets(port_of(input("af_packet:eth0", 1, 9000))) == 16384);
}

TEST_CASE("with_mtu: buffers follow the interface, unless the key is set", "[daemon][unit]") {
    const auto followed = [](const std::string& device, std::uint32_t interface_mtu) {
        return with_mtu(input(device, 1, 0), interface_mtu).mtu;
    };
    CHECK(followed("af_packet:eth0", 9000) == 9000);
    CHECK(followed("af_packet:eth0", 1280) == 1500);
    CHECK(followed("af_packet:eth0", 0) == 1500);
    CHECK(followed("af_packet:lo", 65'536) == 16'000);
    CHECK(followed("af_xdp:eth0", 2500) == 2500);
    CHECK(followed("af_xdp:eth0", 9000) == 3046);
    CHECK(buffer_octets(port_of(with_mtu(input("af_xdp:eth0", 1, 0), 9000))) == 3072);
    CHECK(followed("0000:81:00.0", 9000) == 1500);
    CHECK(followed("net_tap0,iface=tap0", 9000) == 1500);
    CHECK(with_mtu(input("af_packet:eth0", 1, 1500), 9000).mtu == 1500);
    CHECK(with_mtu(input("af_packet:eth0", 1, 9000), 1500).mtu == 9000);
    CHECK(eal_device(with_mtu(input("af_packet:eth1", 1, 0), 9000), 0).argument ==
          "net_af_packet0,iface=eth1,qpairs=1,blocksz=65536,framesz=16384,framecnt=2048");
    CHECK(buffer_octets(port_of(input("af_packet:eth1", 1, 0))) == 2048);
}

TEST_CASE("octets_of_cut_frame: what drivers cut without a word", "[daemon][unit]") {
    const auto limit = [](const InputOptions& of, const std::string& driver) {
        return octets_of_cut_frame(eal_device(of, 0), driver);
    };
    CHECK(limit(input("af_packet:eth0"), "net_af_packet") == 1982);
    CHECK(limit(input("af_packet:eth0", 1, 16'000), "net_af_packet") == 16'318);
    CHECK(limit(input("net_af_packet0,iface=eth0"), "net_af_packet") == 1982);
    CHECK(limit(input("net_af_packet0,framesz=4096,iface=eth0"), "net_af_packet") == 4030);
    CHECK(limit(input("net_af_packet0,iface=eth0,framesz=4096"), "net_af_packet") == 4030);
    CHECK(limit(input("net_pcap0,rx_pcap=a"), "net_pcap") == 0);
    CHECK(limit(input("0000:81:00.0"), "net_ice") == UINT32_MAX);
    CHECK(limit(input("af_xdp:eth0"), "net_af_xdp") == UINT32_MAX);
}

}  // namespace
}  // namespace tributary
