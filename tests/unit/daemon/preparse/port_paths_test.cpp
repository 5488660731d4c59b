// SPDX-License-Identifier: Apache-2.0
// The metadata of a port's packets, on drivers without a NIC: net_ring passes buffers of the test,
// net_null makes empty ones, net_memif shares memory with its other end.
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/port/dpdk_queue.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/packet_pool.hpp"
#include "daemon/port/transmit_port.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/exit_code_of.hpp"
#include "tests/support/packet_builder.hpp"

namespace tributary {
namespace {

using namespace tributary::test;

InputOptions input(const std::string& device) {
    InputOptions options;
    options.name = device.substr(0, device.find(','));
    options.device = device;
    options.rx_descriptors = 256;
    return options;
}

/// One end of a memif; the socket is removed with the server's port.
std::string memif(int number, const std::string& role) {
    const std::filesystem::path socket = std::filesystem::temp_directory_path() /
                                         ("tributary-" + std::to_string(getpid()) + ".sock");
    return "net_memif" + std::to_string(number) + ",role=" + role + ",socket=" + socket.string() +
           ",socket-abstract=no";
}

OutputOptions output_of(const InputOptions& device) {
    return {.device = device.device, .mtu = mtu_of(device), .tx_descriptors = 256};
}

/// EAL with the devices that the tests need. It starts once in a process, and a port that was
/// closed is gone for good.
struct Machine {
    std::array<InputOptions, 6> inputs{input("net_ring0"),        input("net_null0,size=300"),
                                       input("net_ring2"),        input("net_null1"),
                                       input(memif(0, "server")), input(memif(1, "client"))};
    std::vector<EalDevice> devices = all_devices();
    PoolSize size = plan_pools(inputs, std::array<NumaNode, 6>{})[0];
    Eal eal{{.devices = devices,
             .main_cpus = read_topology().allowed(),
             .may_use_huge_pages = false,
             .memory_bytes = 4 * size.memory()}};
    PacketPool pool{size};

    [[nodiscard]] std::vector<EalDevice> all_devices() const {
        std::vector<EalDevice> all;
        for (const InputOptions& each : inputs) {
            all.push_back(eal_device(each, all.size()));
        }
        return all;
    }
    std::unique_ptr<EthPort> open(std::size_t index, const InputOptions& options) {
        auto port =
            std::make_unique<EthPort>(eal.port_of(devices[index]), options, devices[index], pool);
        port->start();
        return port;
    }
};

/// Puts a frame into the ring that a net_ring port receives from.
void send(const Machine& machine, std::size_t index, const Frame& frame) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(machine.pool.get());
    REQUIRE(buffer != nullptr);
    char* const data =
        rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(frame.captured.size()));
    std::memcpy(data, frame.captured.data(), frame.captured.size());
    rte_ring* ring = rte_ring_lookup(("ETH_RXTX0_" + machine.inputs[index].device).c_str());
    REQUIRE(ring != nullptr);
    REQUIRE(rte_ring_enqueue(ring, buffer) == 0);
}

/// Frames as they came, and what is parsed of them.
void check_frames(Machine& machine, std::size_t index) {
    const Frame udp = ethernet().ipv4().udp(1000, 53).build();
    const Frame tcp6 = ethernet().ipv6().tcp(1000, 443, 0x12).build();
    const auto port = machine.open(index, machine.inputs[index]);
    DpdkQueue queue(*port, 0, InterfaceIndex{1});
    send(machine, index, udp);
    send(machine, index, tcp6);
    const FrameBurst burst = queue.receive();
    REQUIRE(burst.frames.size() == 2);
    CHECK(burst.frames[0].captured.size() == udp.captured.size());
    CHECK(burst.frames[1].captured.size() == tcp6.captured.size());
    queue.release(burst);

    FrameReader<DpdkQueue> path(queue, {});
    send(machine, index, udp);
    send(machine, index, tcp6);
    const ParsedBurst parsed = path.read_burst(burst_of_no_use());
    REQUIRE(parsed.packets.size() == 2);
    CHECK(parsed.packets[0].fields->destination_port == L4Port{53});
    CHECK(parsed.packets[1].fields->ip_version == 6);
    CHECK(parsed.packets[1].fields->tcp_control_bits == 0x12);
    path.release(parsed.burst);
}

/// Whole packets, of which only the first 64 octets are read.
void check_trimmed(Machine& machine, std::size_t index) {
    InputOptions trimmed = machine.inputs[index];
    trimmed.parse = ParseMode::trimmed;
    trimmed.trim_length = 64;
    trimmed.trimmed_by = TrimmedBy::source;
    const auto port = machine.open(index, trimmed);
    DpdkQueue queue(*port, 0, InterfaceIndex{1});
    FrameReader<DpdkQueue> path(queue,
                                {.parse = parse_options({}, trimmed.parse, trimmed.trim_length)});
    send(machine, index, ethernet().ipv4().udp(1000, 53).payload(400).build());
    send(machine, index, ethernet().ipv6().extension(60, 16).udp(1, 53).payload(400).build());
    const ParsedBurst parsed = path.read_burst(burst_of_no_use());
    REQUIRE(parsed.packets.size() == 2);
    CHECK(parsed.packets[0].fields->destination_port == L4Port{53});
    CHECK(parsed.packets[0].fields->ip_bytes == 428);
    CHECK(parsed.packets[1].fields->cut_header == CutHeader::ipv6_extension_header);
    CHECK(parsed.packets[1].fields->ip_bytes == 40 + 16 + 408);
    CHECK(path.counters()
              .cut_headers[static_cast<std::size_t>(CutHeader::ipv6_extension_header)]
              .read() == 1);
    path.release(parsed.burst);
}

/// A stream that must not wait loses a frame when no buffer is free; one that may wait gets one.
void check_waiting_for_buffers(Machine& machine, std::size_t index) {
    const TransmitPort port(machine.eal.port_of(machine.devices[index]),
                            output_of(machine.inputs[index]), machine.pool);
    std::atomic<bool> waits{false};
    TransmitQueue queue(port, 0, tributary::MacAddress{}, waits);
    std::vector<rte_mbuf*> taken;
    while (rte_mbuf* buffer = rte_pktmbuf_alloc(machine.pool.get())) {
        taken.push_back(buffer);
    }
    CHECK(queue.begin().empty());
    waits = true;
    std::thread giver([&taken] {  // a thread of its own, which keeps none in a cache
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        rte_pktmbuf_free_bulk(taken.data(), static_cast<unsigned>(taken.size()));
    });
    CHECK(queue.begin().size() == port.frame_octets());
    giver.join();
}

bool wait_until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return holds();
}

bool is_up(const EthPort& port) {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port.id().value, &link) == 0 &&
           link.link_status == RTE_ETH_LINK_UP;
}

/// Mappings of the memory that a memif's ends share.
int shared_mappings() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) {
        count += line.find("memfd:memif") != std::string::npos ? 1 : 0;
    }
    return count;
}

/// Halts a burst just after the driver has filled it.
struct HeldBurst {
    std::atomic<bool> is_held{false};
    std::atomic<bool> may_go_on{false};

    // NOLINTNEXTLINE(readability-function-size): rte_rx_callback_fn
    static std::uint16_t hold(std::uint16_t /*port*/, std::uint16_t /*queue*/, rte_mbuf** /*all*/,
                              std::uint16_t count, std::uint16_t /*room*/, void* self) {
        auto& burst = *static_cast<HeldBurst*>(self);
        burst.is_held = true;
        wait_until([&burst] { return burst.may_go_on.load(); });
        return count;
    }
};

/// The other end of a memif closes while a burst is received from it.
void check_memory_of_a_burst(Machine& machine, std::size_t server, std::size_t client) {
    const auto port = machine.open(server, machine.inputs[server]);
    auto other = std::make_optional<TransmitPort>(machine.eal.port_of(machine.devices[client]),
                                                  output_of(machine.inputs[client]), machine.pool);
    other->start();
    REQUIRE(wait_until([&] { return is_up(*port) && other->is_up(); }));
    constexpr int kMappings = 2;  // one at each end
    CHECK(shared_mappings() == kMappings);

    DpdkQueue queue(*port, 0, InterfaceIndex{1});
    HeldBurst burst;
    const auto* const callback =
        rte_eth_add_rx_callback(port->id().value, 0, HeldBurst::hold, &burst);
    REQUIRE(callback != nullptr);
    std::thread receiver([&queue] { queue.release(queue.receive()); });
    CHECK(wait_until([&burst] { return burst.is_held.load(); }));
    std::thread closer([&other] { other.reset(); });
    CHECK(wait_until([&] { return !is_up(*port); }));
    // Time enough for a driver that does not wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    CHECK(shared_mappings() == kMappings);

    burst.may_go_on = true;
    receiver.join();
    closer.join();
    CHECK(wait_until([] { return shared_mappings() == 0; }));
    CHECK(rte_eth_remove_rx_callback(port->id().value, 0, callback) == 0);
    CHECK(queue.receive().frames.empty());
}

TEST_CASE("EthPort and DpdkQueue: frames as they came, and packets that nobody cuts",
          "[daemon][system]") {
    Machine machine;
    check_frames(machine, 0);

    InputOptions trimmed = machine.inputs[1];
    trimmed.parse = ParseMode::trimmed;
    CHECK(exit_code_of([&] { (void)machine.open(1, trimmed); }) == EX_CONFIG);
    trimmed.trimmed_by = TrimmedBy::source;
    {
        const auto port = machine.open(1, trimmed);
        DpdkQueue queue(*port, 0, InterfaceIndex{1});
        const FrameBurst burst = queue.receive();
        REQUIRE_FALSE(burst.frames.empty());
        CHECK(burst.frames[0].captured.size() == 300);
        queue.release(burst);
    }
    check_trimmed(machine, 2);
    check_waiting_for_buffers(machine, 3);
    check_memory_of_a_burst(machine, 4, 5);
}

}  // namespace
}  // namespace tributary
