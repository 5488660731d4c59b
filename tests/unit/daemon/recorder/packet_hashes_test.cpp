// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/packet_hashes.hpp"

#include <rte_thash.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "parsers/parse_packet.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

PacketFields fields_of(PacketBuilder& builder) {
    const Frame frame = builder.build();
    PacketFields fields;
    REQUIRE(parse_packet(frame.view(), {}, fields) == ParseStatus::ok);
    return fields;
}

std::uint32_t word_of(const IpAddress& address, std::size_t word) {
    std::uint32_t value = 0;
    std::memcpy(&value, address.data() + word * 4, sizeof value);
    return __builtin_bswap32(value);
}

/// DPDK's own Toeplitz hash under the symmetric key.
std::uint32_t reference(const PacketFields& fields, bool with_ports) {
    std::array<std::uint8_t, 52> key{};
    for (std::size_t place = 0; place < key.size(); ++place) {
        key[place] = place % 2 == 0 ? 0x6D : 0x5A;
    }
    const std::size_t words = fields.ip_version == 4 ? 1 : 4;
    std::array<std::uint32_t, 9> input{};
    for (std::size_t word = 0; word < words; ++word) {
        input[word] = word_of(fields.source, word);
        input[words + word] = word_of(fields.destination, word);
    }
    input[2 * words] =
        std::uint32_t{fields.source_port.value} << 16U | fields.destination_port.value;
    return rte_softrss(input.data(), static_cast<std::uint32_t>(2 * words + (with_ports ? 1 : 0)),
                       key.data());
}

std::string random_ipv4(std::mt19937& random) {
    return std::to_string(random() % 256) + "." + std::to_string(random() % 256) + "." +
           std::to_string(random() % 256) + "." + std::to_string(random() % 256);
}

}  // namespace

TEST_CASE("symmetric_rss_hash: as DPDK computes it", "[daemon][unit]") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        const std::string source = random_ipv4(random);
        const std::string destination = random_ipv4(random);
        const auto port = static_cast<std::uint16_t>(random());
        const auto other = static_cast<std::uint16_t>(random());
        PacketBuilder udp =
            ethernet().ipv4({.source = source, .destination = destination}).udp(port, other);
        const PacketFields there = fields_of(udp);
        CHECK(symmetric_rss_hash(there) == reference(there, true));
        PacketBuilder back =
            ethernet().ipv4({.source = destination, .destination = source}).udp(other, port);
        CHECK(symmetric_rss_hash(fields_of(back)) == symmetric_rss_hash(there));
        PacketBuilder icmp =
            ethernet().ipv4({.source = source, .destination = destination}).icmp(8, 0);
        const PacketFields echo = fields_of(icmp);
        CHECK(symmetric_rss_hash(echo) == reference(echo, false));
        PacketBuilder ipv6 = ethernet()
                                 .ipv6({.source = "2001:db8::" + std::to_string(port % 1000),
                                        .destination = "fe80::" + std::to_string(other % 1000)})
                                 .tcp(port, other);
        const PacketFields tcp = fields_of(ipv6);
        CHECK(symmetric_rss_hash(tcp) == reference(tcp, true));
    }
}

TEST_CASE("symmetric_hash: one for both directions, another one for other flows",
          "[daemon][unit]") {
    const FlowHasher hasher(9);
    PacketBuilder there = ethernet().ipv4().tcp(1000, 80);
    PacketBuilder back = ethernet()
                             .vlan(7)
                             .ipv4({.source = "198.51.100.2", .destination = "192.0.2.1"})
                             .tcp(80, 1000);
    PacketBuilder other = ethernet().ipv4().tcp(1001, 80);
    PacketBuilder udp = ethernet().ipv4().udp(1000, 80);
    const std::uint32_t hash = symmetric_hash(hasher, fields_of(there));
    CHECK(hash != 0);
    CHECK(symmetric_hash(hasher, fields_of(back)) == hash);
    CHECK(symmetric_hash(hasher, fields_of(other)) != hash);
    CHECK(symmetric_hash(hasher, fields_of(udp)) != hash);
    CHECK(symmetric_hash(FlowHasher(10), fields_of(there)) != hash);
    PacketBuilder six = ethernet().ipv6().tcp(1000, 80);
    PacketBuilder six_back =
        ethernet().ipv6({.source = "2001:db8::2", .destination = "2001:db8::1"}).tcp(80, 1000);
    PacketBuilder six_other = ethernet().ipv6({.source = "2001:db8::3"}).tcp(1000, 80);
    CHECK(symmetric_hash(hasher, fields_of(six)) == symmetric_hash(hasher, fields_of(six_back)));
    CHECK(symmetric_hash(hasher, fields_of(six)) != symmetric_hash(hasher, fields_of(six_other)));
}
