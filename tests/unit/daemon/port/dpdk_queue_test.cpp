// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/dpdk_queue.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "daemon/machine/pinned_thread.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/packet_pool.hpp"
#include "tests/support/exit_code_of.hpp"
#include "tests/support/packet_builder.hpp"

namespace tributary {
namespace {

using test::exit_code_of;

constexpr std::uint32_t kSnapLength = 2048;
constexpr std::uint32_t kFirstSecond = 1'600'000'000;

/// A little-endian pcap file with microseconds, removed with the object.
class CaptureOnDisk {
public:
    explicit CaptureOnDisk(const std::string& name)
        : path_(std::filesystem::temp_directory_path() /
                ("tributary-" + std::to_string(getpid()) + "-" + name)),
          file_(path_, std::ios::binary) {
        put({0xA1B2C3D4, 0x0004'0002, 0, 0, kSnapLength, 1});
    }
    ~CaptureOnDisk() { std::filesystem::remove(path_); }
    CaptureOnDisk(const CaptureOnDisk&) = delete;
    CaptureOnDisk& operator=(const CaptureOnDisk&) = delete;

    void add(std::uint32_t seconds, std::uint32_t microseconds, std::uint32_t octets,
             std::uint8_t fill) {
        put({seconds, microseconds, octets, octets});
        file_ << std::string(octets, static_cast<char>(fill));
        file_.flush();
    }
    void add(const test::Frame& frame) {
        const auto captured = static_cast<std::uint32_t>(frame.captured.size());
        put({kFirstSecond, 0, captured, frame.wire_bytes});
        file_.write(reinterpret_cast<const char*>(frame.captured.data()), captured);
        file_.flush();
    }
    [[nodiscard]] std::string path() const { return path_; }

private:
    void put(std::initializer_list<std::uint32_t> words) {
        for (const std::uint32_t word : words) {
            std::array<char, sizeof(word)> bytes{};
            std::memcpy(bytes.data(), &word, sizeof(word));
            file_.write(bytes.data(), bytes.size());
        }
    }

    std::filesystem::path path_;
    std::ofstream file_;
};

struct Seen {
    std::size_t octets;
    std::byte first;
    Timestamp at;
    Timestamp clock;
    std::uint32_t interface;
};

/// All packets of a queue; a file's queue is at its end when a poll is empty.
std::vector<Seen> drain(DpdkQueue& queue) {
    std::vector<Seen> seen;
    FrameBurst burst = queue.receive();
    while (!burst.frames.empty()) {
        for (const PacketView& packet : burst.frames) {
            CHECK(packet.wire_bytes == packet.captured.size());
            seen.push_back({packet.captured.size(), packet.captured[0], packet.seen_at,
                            packet.clock, packet.ingress_interface.value});
        }
        queue.release(burst);
        burst = queue.receive();
    }
    queue.release(burst);
    return seen;
}

Timestamp time_of(std::uint32_t number) {
    return Timestamp{std::chrono::seconds{kFirstSecond} +
                     std::chrono::microseconds{number * std::int64_t{1001}}};
}

void fill(CaptureOnDisk& capture, std::uint32_t packets) {
    for (std::uint32_t number = 0; number < packets; ++number) {
        const std::uint32_t micros = number * 1001;
        capture.add(kFirstSecond + micros / 1'000'000, micros % 1'000'000, 60 + number % 1400,
                    static_cast<std::uint8_t>(number));
    }
}

void check_all(const std::vector<Seen>& seen, std::uint32_t packets, std::uint32_t interface) {
    REQUIRE(seen.size() == packets);
    for (std::uint32_t number = 0; number < packets; ++number) {
        INFO(number);
        CHECK(seen[number].octets == 60 + number % 1400);
        CHECK(seen[number].first == static_cast<std::byte>(number));
        CHECK(seen[number].at == time_of(number));
        CHECK(seen[number].clock == time_of(number));
        CHECK(seen[number].interface == interface);
    }
}

// One case, because EAL starts once in a process.
TEST_CASE("DpdkQueue: two files are two queues, all packets arrive with their own times",
          "[daemon][system]") {
    CaptureOnDisk first("first.pcap");
    CaptureOnDisk second("second.pcap");
    CaptureOnDisk broken("broken.pcap");
    fill(first, 1000);
    fill(second, 300);
    broken.add(0, 0, 60, 1);
    broken.add(kFirstSecond, 5, 60, 2);
    broken.add(0xFFFF'FFFF, 0, 60, 3);

    InputOptions two;
    two.name = "two";
    two.device = "net_pcap0,rx_pcap=" + first.path() + ",rx_pcap=" + second.path();
    two.queues = 2;
    InputOptions bad;
    bad.name = "bad";
    bad.device = "net_pcap1,rx_pcap=" + broken.path();
    CaptureOnDisk cut_frames("cut.pcap");
    const test::Frame jumbo = test::ethernet().vlan(5).ipv4().udp(1, 2).payload(1900).build();
    cut_frames.add(jumbo.cut(200));
    cut_frames.add(jumbo);
    cut_frames.add(
        test::ethernet().ipv6({.payload_bytes = 0}).tcp(1, 2, 0x10).payload(300).build());
    cut_frames.add(test::ethernet().ethertype(0x0806).payload(46).build());
    InputOptions cut;
    cut.name = "cut";
    cut.device = "net_pcap2,rx_pcap=" + cut_frames.path();
    cut.mtu = 9000;
    const EalDevice cut_device = eal_device(cut, 2);
    const EalDevice two_device = eal_device(two, 0);
    const EalDevice bad_device = eal_device(bad, 1);
    const std::vector<InputOptions> inputs{two, bad, cut};
    const std::vector<NumaNode> nodes(3);
    const auto sizes = plan_pools(inputs, nodes);
    REQUIRE(sizes.size() == 1);

    const Eal eal({.devices = {two_device, bad_device, cut_device},
                   .main_cpus = read_topology().allowed(),
                   .may_use_huge_pages = false,
                   .memory_bytes = sizes[0].memory()});
    CHECK_FALSE(eal.huge_pages());
    const PacketPool pool(sizes[0]);

    EthPort two_port(eal.port_of(two_device), two, two_device, pool);
    two_port.start();
    CHECK(two_port.driver() == "net_pcap");
    CHECK_FALSE(two_port.rss().symmetric);
    CHECK_FALSE(two_port.poll_link().has_value());
    DpdkQueue queue0(two_port, 0, InterfaceIndex{7});
    DpdkQueue queue1(two_port, 1, InterfaceIndex{7});
    std::vector<Seen> seen0;
    std::vector<Seen> seen1;
    {
        const PinnedThread reader0({.name = "reader0", .cpu = {}, .uses_dpdk = true},
                                   [&] { seen0 = drain(queue0); });
        const PinnedThread reader1({.name = "reader1", .cpu = {}, .uses_dpdk = true},
                                   [&] { seen1 = drain(queue1); });
    }
    check_all(seen0, 1000, 7);
    check_all(seen1, 300, 7);
    CHECK(queue0.bad_timestamps().read() == 0);
    const NicCounters counters = two_port.counters();
    CHECK(counters.received == 1300);
    CHECK(counters.missed == 0);
    CHECK(counters.no_buffer == 0);
    CHECK(counters.errors == 0);
    CHECK(counters.queue_errors == std::vector<std::uint64_t>{0, 0});

    // It releases the port only after an empty poll.
    CHECK_FALSE(queue1.pause());
    CHECK(queue1.receive().frames.empty());
    CHECK(queue1.pause());
    CHECK(queue1.receive().frames.empty());
    CHECK(queue1.pause());
    queue1.resume();
    CHECK_FALSE(queue1.pause());
    CHECK(queue1.receive().frames.empty());
    CHECK(queue1.pause());
    queue1.resume();

    // The queue's clock advances without packets.
    CHECK(queue0.receive().now > time_of(999));

    {
        EthPort bad_port(eal.port_of(bad_device), bad, bad_device, pool);
        bad_port.start();
        DpdkQueue queue(bad_port, 0, InterfaceIndex{1});
        const auto seen = drain(queue);
        REQUIRE(seen.size() == 3);
        CHECK(seen[0].at == kFirstTimestamp);
        CHECK(seen[1].at ==
              Timestamp{std::chrono::seconds{kFirstSecond} + std::chrono::microseconds{5}});
        CHECK(seen[2].at == seen[1].at);
        CHECK(queue.bad_timestamps().read() == 2);
    }

    {
        EthPort cut_port(eal.port_of(cut_device), cut, cut_device, pool);
        cut_port.start();
        DpdkQueue queue(cut_port, 0, InterfaceIndex{1});
        const FrameBurst burst = queue.receive();
        REQUIRE(burst.frames.size() == 4);
        CHECK(burst.frames[0].captured.size() == 200);
        CHECK(burst.frames[0].wire_bytes == jumbo.captured.size());
        CHECK(burst.frames[1].wire_bytes == jumbo.captured.size());
        CHECK(burst.frames[2].wire_bytes == 14 + 40 + 20 + 300);
        CHECK(burst.frames[3].wire_bytes == 60);
        CHECK(queue.frames_cut().read() == 1);
        CHECK(queue.length_unknown().read() == 1);
        queue.release(burst);
    }

    InputOptions greedy = two;
    greedy.queues = 3;
    CHECK(exit_code_of([&] {
              const EthPort refused(eal.port_of(two_device), greedy, two_device, pool);
          }) == 78);
    InputOptions absent;
    absent.device = "af_packet:trib-none";
    CHECK(exit_code_of([&] { (void)eal.port_of(eal_device(absent, 9)); }) == 69);
}

}  // namespace
}  // namespace tributary
