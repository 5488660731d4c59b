// SPDX-License-Identifier: Apache-2.0
#include "flowcache/record/flow_direction.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "flowcache/keyed_packet.hpp"
#include "tests/support/other_direction.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint16_t kSynAlone = 0x002;
constexpr std::uint16_t kSynWithEcn = 0x0C2;
constexpr std::uint16_t kSynAck = 0x012;
constexpr std::uint16_t kSynAckWithEcn = 0x052;

/// A packet of any such conversation.
PacketFields packet_of(const std::string& source, std::uint16_t source_port,
                       const std::string& destination, std::uint16_t destination_port,
                       std::uint8_t protocol = kTcp) {
    return {.source = ip_address(source),
            .destination = ip_address(destination),
            .source_port = {source_port},
            .destination_port = {destination_port},
            .protocol = protocol,
            .ip_version = static_cast<std::uint8_t>(source.find(':') == std::string::npos ? 4 : 6)};
}

ShortKey key_of(const PacketFields& fields, bool is_swapped = false) {
    ShortKey key;
    write_key(key, words_of_packet(fields, {7}), is_swapped);
    return key;
}

/// The canonical key of a packet.
FlowKey canonical(const PacketFields& fields) {
    const PacketView view{.ingress_interface = {7}};
    KeyedPacket keyed;
    keyed.packet = &view;
    keyed.fields = &fields;
    key_packet(keyed, FlowDirection::biflow, WholeKeyMasks(true));
    return whole_key(keyed.key, swapped_addresses(fields, keyed.is_swapped));
}

}  // namespace

TEST_CASE("swapped: addresses and ports change places, all else stays", "[flowcache][unit]") {
    const PacketFields fields = packet_of("192.0.2.1", 40000, "198.51.100.2", 443);
    const ShortKey key = key_of(fields);
    CHECK(key_of(fields, true) == key_of(other_direction(fields)));
    CHECK(key_of(other_direction(fields), true) == key);
    const FlowKey whole = whole_key(key, {});
    CHECK(swapped(whole, true) == whole_key(key_of(fields, true), {}));
    CHECK(swapped(whole, false) == whole);
    const TunnelGroup tunnel{.source = ip_address("192.0.2.1"),
                             .destination = ip_address("192.0.2.2"),
                             .id = 5,
                             .kind = TunnelKind::vxlan,
                             .ip_version = 4};
    CHECK(swapped(tunnel, true) == TunnelGroup{.source = ip_address("192.0.2.2"),
                                               .destination = ip_address("192.0.2.1"),
                                               .id = 5,
                                               .kind = TunnelKind::vxlan,
                                               .ip_version = 4});
    CHECK(swapped(tunnel, false) == tunnel);
}

TEST_CASE("needs_swap: both directions of a conversation have one key", "[flowcache][unit]") {
    const PacketFields there = GENERATE(
        packet_of("192.0.2.1", 40000, "198.51.100.2", 443),
        packet_of("192.0.2.1", 1, "192.0.2.1", 2), packet_of("192.0.2.1", 0, "192.0.2.2", 0, 47),
        packet_of("2.0.0.0", 1, "1.0.0.0", 2, kUdp), packet_of("2001:db8::1", 5, "2001:db8::2", 6),
        packet_of("2001:db8:1::", 5, "2001:db8:2::", 5),
        packet_of("2001:db8::1", 7, "2001:db8::1", 65535, kUdp));
    const PacketFields back = other_direction(there);
    CHECK(canonical(there) == canonical(back));
    CHECK(needs_swap(there) != needs_swap(back));
    const PacketFields& forward = needs_swap(there) ? back : there;
    CHECK(canonical(there) == whole_key(key_of(forward), {forward.source, forward.destination}));
}

TEST_CASE("needs_swap: what IPv4 leaves of an address does not count", "[flowcache][unit]") {
    PacketFields there = packet_of("192.0.2.1", 40000, "198.51.100.2", 443);
    PacketFields back = other_direction(there);
    there.source[15] = std::byte{0xFF};
    back.source[15] = std::byte{0xFF};
    CHECK(needs_swap(there) != needs_swap(back));
}

TEST_CASE("needs_swap: two equal ends are one direction", "[flowcache][unit]") {
    CHECK_FALSE(needs_swap(packet_of("192.0.2.1", 53, "192.0.2.1", 53, kUdp)));
}

TEST_CASE("needs_swap: conversations with the same ports at other ends stay apart",
          "[flowcache][unit]") {
    CHECK_FALSE(canonical(packet_of("192.0.2.1", 1, "192.0.2.2", 2)) ==
                canonical(packet_of("192.0.2.1", 2, "192.0.2.2", 1)));
}

TEST_CASE("needs_swap: ICMP and ICMPv6 never are", "[flowcache][unit]") {
    for (const std::uint16_t type_and_code : {std::uint16_t{0x0000}, std::uint16_t{0x0800}}) {
        CHECK_FALSE(needs_swap(packet_of("192.0.2.1", 0, "192.0.2.2", type_and_code, 1)));
        CHECK_FALSE(needs_swap(packet_of("192.0.2.2", 0, "192.0.2.1", type_and_code, 1)));
    }
    CHECK_FALSE(needs_swap(packet_of("2001:db8::2", 0, "2001:db8::1", 0x8000, 58)));
    CHECK_FALSE(needs_swap(packet_of("2001:db8::1", 0, "2001:db8::2", 0x8100, 58)));
}

TEST_CASE("is_initiator: SYN decides, whatever the ports are", "[flowcache][unit]") {
    const bool by_port = GENERATE(false, true);
    const PacketFields up = packet_of("192.0.2.1", 80, "192.0.2.2", 40000);
    for (PacketFields first : {up, other_direction(up)}) {
        for (const std::uint16_t flags : {kSynAlone, kSynWithEcn}) {
            first.tcp_control_bits = flags;
            CHECK(is_initiator(first, by_port));
            CHECK(biflow_direction(first, by_port) == BiflowDirection::initiator);
        }
        for (const std::uint16_t flags : {kSynAck, kSynAckWithEcn}) {
            first.tcp_control_bits = flags;
            CHECK_FALSE(is_initiator(first, by_port));
            CHECK(biflow_direction(first, by_port) == BiflowDirection::initiator);
        }
    }
}

TEST_CASE("is_initiator: without SYN the sender, or the higher port if configured",
          "[flowcache][unit]") {
    const PacketFields request = packet_of("192.0.2.1", 40000, "192.0.2.2", 53);
    const std::uint8_t protocol = GENERATE(kTcp, kUdp);
    for (PacketFields first : {request, other_direction(request)}) {
        first.protocol = protocol;
        first.tcp_control_bits = protocol == kTcp ? 0x018 : 0;
        CHECK(is_initiator(first, false));
        CHECK(is_initiator(first, true) == (first.source_port.value == 40000));
        CHECK(biflow_direction(first, true) == BiflowDirection::initiator);
        CHECK(biflow_direction(first, false) ==
              (protocol == kTcp ? BiflowDirection::arbitrary : BiflowDirection::initiator));
    }
    PacketFields equal = packet_of("192.0.2.1", 123, "192.0.2.2", 123);
    equal.tcp_control_bits = 0x010;
    CHECK(is_initiator(equal, true));
    CHECK(biflow_direction(equal, true) == BiflowDirection::arbitrary);
}

TEST_CASE("is_initiator: of ICMP always the sender", "[flowcache][unit]") {
    const PacketFields first = packet_of("192.0.2.1", 0, "192.0.2.2", 0x0800, 1);
    CHECK(is_initiator(first, true));
    CHECK(biflow_direction(first, true) == BiflowDirection::initiator);
}
