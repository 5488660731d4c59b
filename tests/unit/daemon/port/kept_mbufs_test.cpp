// SPDX-License-Identifier: Apache-2.0
// Packets that stages keep and forward. net_ring passes the test's own buffers, with segments,
// hashes and marks.
#include "daemon/port/kept_mbufs.hpp"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/port/dpdk_queue.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/packet_pool.hpp"
#include "tests/unit/daemon/port/packet_buffers.hpp"

namespace tributary {
namespace {

using namespace tributary::test;

constexpr std::uint32_t kMost = 6;

/// A packet to send.
struct Sent {
    std::uint8_t first = 0;                   ///< its first octet; each further one is one more
    std::vector<std::uint16_t> segments{60};  ///< octets of each
    std::optional<std::uint32_t> rss_hash{};
    std::optional<std::uint32_t> mark{};

    [[nodiscard]] std::vector<std::byte> octets(std::size_t segment = 0) const {
        std::size_t before = first;
        for (std::size_t number = 0; number < segment; ++number) {
            before += segments[number];
        }
        std::vector<std::byte> octets(segments[segment]);
        for (std::byte& octet : octets) {
            octet = static_cast<std::byte>(before++);
        }
        return octets;
    }
};

std::vector<std::byte> copy_of(std::span<const std::byte> octets) {
    return {octets.begin(), octets.end()};
}

/// A port that receives what is sent to it, and its buffers.
class Loop {
public:
    Loop(const Eal& eal, const InputOptions& input, const EalDevice& device)
        : device_(device),
          pool_(std::make_unique<PacketPool>(
              plan_pools(std::array{input}, std::array{NumaNode{}})[0], input.name)),
          port_(std::make_unique<EthPort>(eal.port_of(device), input, device, *pool_)) {
        port_->start();
    }

    [[nodiscard]] DpdkQueue queue() const { return {*port_, 0, InterfaceIndex{7}}; }
    /// Buffers that are neither free nor in a thread's cache.
    [[nodiscard]] std::uint32_t in_use() const { return pool_->in_use(); }
    [[nodiscard]] rte_mempool& buffers() const { return *pool_->get(); }
    /// Ends the port, and lets go of its buffers.
    void end() {
        port_.reset();
        pool_.reset();
    }

    void send(const Sent& packet) const {
        rte_mbuf* head = nullptr;
        for (std::size_t number = 0; number < packet.segments.size(); ++number) {
            rte_mbuf* const segment = rte_pktmbuf_alloc(pool_->get());
            REQUIRE(segment != nullptr);
            const std::vector<std::byte> octets = packet.octets(number);
            char* const place = rte_pktmbuf_append(segment, packet.segments[number]);
            std::ranges::copy(octets, reinterpret_cast<std::byte*>(place));
            if (head == nullptr) {
                head = segment;
            } else {
                REQUIRE(rte_pktmbuf_chain(head, segment) == 0);
            }
        }
        if (packet.rss_hash) {
            head->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
            head->hash.rss = *packet.rss_hash;
        }
        if (packet.mark) {
            head->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
            head->hash.fdir.hi = *packet.mark;
        }
        rte_ring* const ring = rte_ring_lookup(("ETH_RXTX0_" + device_.port_name).c_str());
        REQUIRE(ring != nullptr);
        REQUIRE(rte_ring_enqueue(ring, head) == 0);
    }

private:
    EalDevice device_;
    std::unique_ptr<PacketPool> pool_;
    std::unique_ptr<EthPort> port_;
};

/// What is kept, forwarded or both stays past release(), until its last holder has given it back.
void check_fates(const Loop& loop) {
    DpdkQueue queue = loop.queue();
    for (std::uint8_t number = 0; number < 5; ++number) {
        loop.send({.first = number});
    }
    FrameBurst burst = queue.receive();
    REQUIRE(burst.frames.size() == 5);
    KeptPacket kept = burst.keep(1);
    KeptPacket kept_before = burst.keep(2);
    rte_mbuf* const after_keep = queue.forward(burst, 2);
    rte_mbuf* const before_keep = queue.forward(burst, 3);
    KeptPacket kept_after = burst.keep(3);
    rte_mbuf* const alone = queue.forward(burst, 4);
    CHECK(burst.kept == 0b0'1110);
    CHECK(burst.forwarded == 0b1'1100);
    CHECK(loop.in_use() == 5);
    queue.release(burst);
    CHECK(loop.in_use() == 4);
    CHECK(rte_mbuf_refcnt_read(alone) == 1);
    CHECK(rte_mbuf_refcnt_read(after_keep) == 2);
    CHECK(rte_mbuf_refcnt_read(before_keep) == 2);
    CHECK(*rte_pktmbuf_mtod(alone, const std::byte*) == std::byte{4});

    const std::array octets{Sent{.first = 1}.octets(), Sent{.first = 2}.octets(),
                            Sent{.first = 3}.octets()};
    CHECK(copy_of(kept.view().captured) == octets[0]);
    kept = {};
    CHECK(loop.in_use() == 3);
    rte_pktmbuf_free(alone);
    CHECK(loop.in_use() == 2);
    rte_pktmbuf_free(after_keep);
    CHECK(loop.in_use() == 2);
    CHECK(copy_of(kept_before.view().captured) == octets[1]);
    kept_before = {};
    CHECK(loop.in_use() == 1);
    CHECK(copy_of(kept_after.view().captured) == octets[2]);
    kept_after = {};
    CHECK(loop.in_use() == 1);
    CHECK(rte_mbuf_refcnt_read(before_keep) == 1);
    CHECK(*rte_pktmbuf_mtod(before_keep, const std::byte*) == std::byte{3});
    rte_pktmbuf_free(before_keep);
    CHECK(loop.in_use() == 0);
    CHECK(queue.kept().kept() == 3);
    CHECK(queue.kept().held() == 0);
}

/// A burst of which everything is taken, and one of which nothing is.
void check_all_or_none(const Loop& loop) {
    DpdkQueue queue = loop.queue();
    loop.send({.first = 1});
    loop.send({.first = 2});
    FrameBurst burst = queue.receive();
    REQUIRE(burst.frames.size() == 2);
    KeptPacket kept = burst.keep(0);
    rte_mbuf* const forwarded = queue.forward(burst, 1);
    queue.release(burst);
    CHECK(loop.in_use() == 2);
    CHECK(queue.receive().frames.empty());
    queue.release(queue.receive());
    CHECK(loop.in_use() == 2);
    loop.send({.first = 3});
    burst = queue.receive();
    queue.release(burst);
    CHECK(loop.in_use() == 2);
    rte_pktmbuf_free(forwarded);
    kept = {};
    CHECK(loop.in_use() == 0);
}

/// Several stages keep one packet: each has it until it gives it back.
void check_two_holders(const Loop& loop) {
    DpdkQueue queue = loop.queue();
    const Sent sent{.first = 50, .segments = {60, 40}};
    loop.send(sent);
    FrameBurst burst = queue.receive();
    REQUIRE(burst.frames.size() == 1);
    KeptPacket first = burst.keep(0);
    KeptPacket second = burst.keep(0);
    queue.release(burst);
    CHECK(queue.kept().held() == 2);
    CHECK(loop.in_use() == 2);
    first = {};
    CHECK(queue.kept().held() == 1);
    CHECK(loop.in_use() == 2);
    CHECK(copy_of(second.segment(0)) == sent.octets(0));
    CHECK(copy_of(second.segment(1)) == sent.octets(1));
    second = {};
    CHECK(queue.kept().held() == 0);
    CHECK(loop.in_use() == 0);
}

/// A stage, or the thread that it hands a packet to, may be done with it before the burst is: the
/// stages behind it see the frame, and keep it.
void check_given_back_at_once(const Loop& loop) {
    DpdkQueue queue = loop.queue();
    const std::array sent{Sent{.first = 10}, Sent{.first = 20},
                          Sent{.first = 30, .segments = {60, 50}}};
    for (const Sent& packet : sent) {
        loop.send(packet);
    }
    FrameBurst burst = queue.receive();
    REQUIRE(burst.frames.size() == 3);
    std::thread([packet = burst.keep(0)]() mutable { packet = {}; }).join();
    rte_pktmbuf_free(queue.forward(burst, 1));
    CHECK(burst.keep(2));
    CHECK(queue.kept().held() == 0);
    CHECK(loop.in_use() == 4);
    loop.send({.first = 99});  // takes a buffer that is free
    for (std::size_t index = 0; index < sent.size(); ++index) {
        INFO(index);
        CHECK(copy_of(burst.frames[index].captured) == sent[index].octets());
    }
    CHECK(copy_of(burst.segment(2, 1)) == sent[2].octets(1));
    std::array<KeptPacket, 3> later{burst.keep(0), burst.keep(1), burst.keep(2)};
    queue.release(burst);
    CHECK(loop.in_use() == 5);
    CHECK(copy_of(later[0].view().captured) == sent[0].octets());
    CHECK(copy_of(later[1].view().captured) == sent[1].octets());
    CHECK(copy_of(later[2].segment(1)) == sent[2].octets(1));
    later = {};
    CHECK(loop.in_use() == 1);
    burst = queue.receive();
    REQUIRE(burst.frames.size() == 1);
    CHECK(copy_of(burst.frames[0].captured) == Sent{.first = 99}.octets());
    queue.release(burst);
    CHECK(loop.in_use() == 0);
    CHECK(queue.kept().kept() == 5);
    CHECK(has_each_buffer_once(loop.buffers()));
}

/// What the driver says of a packet, and its segments, are there in the burst and in the kept
/// packet.
void check_details(const Loop& loop) {
    DpdkQueue queue = loop.queue();
    const std::array sent{Sent{.first = 1}, Sent{.first = 2, .rss_hash = 0xFEDC'BA98},
                          Sent{.first = 3, .mark = 77},
                          Sent{.first = 4, .segments = {100, 1, 1400}, .rss_hash = 5, .mark = 0},
                          Sent{.first = 5, .segments = {14, 0}}};
    const std::array<FrameDetails, 5> wanted{{{.rss_hash = {}, .mark = {}, .segments = 1},
                                              {.rss_hash = 0xFEDC'BA98, .mark = {}, .segments = 1},
                                              {.rss_hash = {}, .mark = 77, .segments = 1},
                                              {.rss_hash = 5, .mark = 0, .segments = 3},
                                              {.rss_hash = {}, .mark = {}, .segments = 2}}};
    constexpr std::array<std::uint32_t, 5> kOctets{60, 60, 60, 1501, 14};
    for (const Sent& packet : sent) {
        loop.send(packet);
    }
    FrameBurst burst = queue.receive();
    REQUIRE(burst.frames.size() == sent.size());
    std::vector<KeptPacket> kept(sent.size());
    for (std::size_t index = 0; index < sent.size(); ++index) {
        INFO(index);
        CHECK(burst.details(index) == wanted[index]);
        CHECK(burst.frames[index].wire_bytes == kOctets[index]);
        CHECK(burst.frames[index].captured.size() == sent[index].segments[0]);
        for (std::size_t number = 0; number < sent[index].segments.size(); ++number) {
            CHECK(copy_of(burst.segment(index, number)) == sent[index].octets(number));
        }
        if (index != 2) {
            kept[index] = burst.keep(index);
        }
    }
    CHECK(burst.kept == 0b0'1011);  // the fourth has three buffers, the last would have the seventh
    CHECK(queue.kept().refused() == 1);
    kept[0] = {};
    kept[4] = burst.keep(4);
    queue.release(burst);
    CHECK(loop.in_use() == 6);
    for (const std::size_t index : {1U, 3U, 4U}) {
        INFO(index);
        REQUIRE(kept[index]);
        CHECK(kept[index].segments() == sent[index].segments.size());
        CHECK(kept[index].details() == wanted[index]);
        CHECK(kept[index].view().wire_bytes == kOctets[index]);
        CHECK(kept[index].view().ingress_interface == InterfaceIndex{7});
        for (std::size_t number = 0; number < sent[index].segments.size(); ++number) {
            CHECK(copy_of(kept[index].segment(number)) == sent[index].octets(number));
        }
    }
    kept.clear();
    CHECK(loop.in_use() == 0);
}

/// Beyond the stated number packets are refused, by segments and by holders, and none of theirs is
/// lost.
void check_refusals(const Loop& loop) {
    DpdkQueue queue = loop.queue();
    const KeptBuffers& counts = queue.kept();
    CHECK(counts.most() == kMost);
    for (std::uint8_t number = 0; number < 4; ++number) {
        loop.send({.first = number, .segments = {60, 60, 60}});
    }
    loop.send({.first = 4});
    FrameBurst burst = queue.receive();
    REQUIRE(burst.frames.size() == 5);
    std::vector<KeptPacket> kept;
    kept.push_back(burst.keep(0));
    kept.push_back(burst.keep(1));
    CHECK_FALSE(burst.keep(2));
    CHECK_FALSE(burst.keep(0));  // another holder of the first
    CHECK_FALSE(burst.keep(4));
    CHECK(burst.kept == 0b0'0011);
    CHECK(counts.held() == 2);
    kept[0] = {};
    CHECK(burst.keep(2));  // and back at once
    kept[0] = burst.keep(2);
    CHECK_FALSE(burst.keep(4));
    queue.release(burst);
    CHECK(burst.kept == 0b0'0111);
    CHECK(loop.in_use() == 6);
    CHECK(counts.kept() == 4);
    CHECK(counts.refused() == 4);
    CHECK(copy_of(kept[0].segment(2)) == Sent{.first = 2, .segments = {60, 60, 60}}.octets(2));
    kept.clear();
    CHECK(loop.in_use() == 0);
    CHECK(counts.held() == 0);
    CHECK(has_each_buffer_once(loop.buffers()));
}

/// A packet outlives queue, port and pool. The memory of the pool goes with the last one.
void check_last_packet(Loop& loop) {
    const std::string pool = loop.buffers().name;
    const Sent sent{.first = 33, .segments = {70, 80}};
    KeptPacket last;
    KeptPacket before;
    {
        DpdkQueue queue = loop.queue();
        loop.send(sent);
        loop.send({});
        FrameBurst burst = queue.receive();
        REQUIRE(burst.frames.size() == 2);
        last = burst.keep(0);
        before = burst.keep(1);
        queue.release(burst);
    }
    loop.end();
    before = {};
    CHECK(rte_mempool_lookup(pool.c_str()) != nullptr);
    std::thread([&sent, packet = std::move(last)]() mutable {
        CHECK(copy_of(packet.segment(0)) == sent.octets(0));
        CHECK(copy_of(packet.segment(1)) == sent.octets(1));
        CHECK(packet.details().segments == 2);
        packet = {};
    }).join();
    CHECK(rte_mempool_lookup(pool.c_str()) == nullptr);
}

InputOptions input(const std::string& name) {
    InputOptions options;
    options.name = name;
    options.device = name;
    options.mempool_size = 64;
    options.rx_descriptors = 64;
    options.kept_buffers = kMost;
    return options;
}

// One case, because EAL starts once in a process.
TEST_CASE("DpdkQueue: what stages keep and forward stays as it came, until its last holder is done",
          "[daemon][system]") {
    const std::array inputs{input("net_ring0"), input("net_ring1")};
    const std::vector devices{eal_device(inputs[0], 0), eal_device(inputs[1], 1)};
    const PoolSize size = plan_pools(inputs, std::array<NumaNode, 2>{})[0];
    const Eal eal({.devices = devices,
                   .main_cpus = read_topology().allowed(),
                   .may_use_huge_pages = false,
                   .memory_bytes = 4 * size.memory()});
    {
        const Loop loop(eal, inputs[0], devices[0]);
        check_fates(loop);
        check_all_or_none(loop);
        check_two_holders(loop);
        check_given_back_at_once(loop);
        check_details(loop);
        check_refusals(loop);
    }
    Loop loop(eal, inputs[1], devices[1]);
    check_last_packet(loop);
}

}  // namespace
}  // namespace tributary
